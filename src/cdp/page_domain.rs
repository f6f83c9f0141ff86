//! The `Page` domain, as far as we use it.

use std::convert::Infallible;
use std::future::pending;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::Session;
use super::lenient::or_default;

/// Closing a dialog is the browser's work alone; a page that is about to be given up is not waited for longer.
const DISMISS_WITHIN: Duration = Duration::from_secs(1);

/// Event `Page.javascriptDialogOpening`.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct DialogOpening {
    /// `alert`, `confirm`, `prompt` or `beforeunload`.
    #[serde(default, rename = "type", deserialize_with = "or_default")]
    pub kind: String,
    /// What it says.
    #[serde(default, deserialize_with = "or_default")]
    pub message: String,
}

impl DialogOpening {
    /// Closes the dialog: `beforeunload` lets the page go, everything else is answered with "cancel".
    pub async fn dismiss(&self, session: &Session) {
        let params = json!({ "accept": self.kind == "beforeunload" });
        // Somebody may have answered it meanwhile, or the page may be gone.
        drop(session.call::<Value>("Page.handleJavaScriptDialog", params, DISMISS_WITHIN).await);
    }
}

/// Closes every dialog that a page opens, for as long as this is polled: a dialog stops a page, and one that opens while
/// the page loads would keep it from ever being ready.
pub async fn dismiss_all(session: &Session) -> Infallible {
    let mut events = session.events();
    while let Some(event) = events.next().await {
        if event.method == "Page.javascriptDialogOpening"
            && let Ok(dialog) = event.parse::<DialogOpening>()
        {
            tracing::warn!("the page opened a native {} dialog while it loaded; it was dismissed", dialog.kind);
            dialog.dismiss(session).await;
        }
    }
    pending().await
}
