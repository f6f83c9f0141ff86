//! Pictures of the page when a test fails. The page holds the test while one is made, so that neither its hooks nor the next
//! test change what is seen; a test that holds costs nobody anything.

use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

use crate::cdp::page::Page;
use crate::cdp::runtime::{EvaluateOptions, evaluate};
use crate::wire::RUNTIME_GLOBAL;

/// Pictures of one run: nobody looks at more, and a run in which everything fails is not held up for longer.
pub const MAX_SCREENSHOTS: u32 = 20;
/// A browser makes one in a tenth of this; the page waits no longer (`MAX_HOLD_MS` of the runtime).
const WITHIN: Duration = Duration::from_secs(1);

/// Whether the browser of a page can make one: a script in the page cannot.
pub fn can_picture(page: &Page) -> bool {
    page.abilities.debugger
}

/// A picture of what is in view, as PNG.
pub(super) async fn take(page: &Page) -> Option<Arc<[u8]>> {
    let params = json!({ "format": "png", "optimizeForSpeed": true });
    let taken = page.session.call::<Value>("Page.captureScreenshot", params, WITHIN).await;
    let taken = taken.inspect_err(|error| tracing::info!(%error, "no picture of a failing test")).ok()?;
    STANDARD.decode(taken["data"].as_str()?).ok().map(Arc::from)
}

/// Lets a failing test go on.
pub(super) async fn go_on(page: &Page, run: u32, test: u32) {
    let expression = format!("{RUNTIME_GLOBAL}.goOn({run}, {test})");
    // A page that does not hear it goes on by itself.
    drop(evaluate(&page.session, &expression, EvaluateOptions::default(), WITHIN).await);
}
