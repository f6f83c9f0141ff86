//! `navigate` and `handle_dialog`: where the page goes, and what it asks on its way.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};
use url::Url;

use crate::cdp::Session;
use crate::cdp::runtime::{EvaluateOptions, evaluate};
use crate::mcp::call::Call;
use crate::mcp::envelope::{Answer, Answered, Fault, FaultCode};
use crate::mcp::page::{LOOK_WITHIN, LivePage};
use crate::mcp::tool::{About, Effect, Tool};
use crate::secret::SafeUrl;

/// How long a page may take to arrive unless another number is asked for.
const DEFAULT_WITHIN: Duration = Duration::from_secs(30);
/// The longest time that can be asked for.
const MAX_WITHIN: Duration = Duration::from_secs(300);
/// Pause between two looks at a document that is not there yet.
const LOOK_AGAIN: Duration = Duration::from_millis(50);
/// One look; a page that is on its way does not answer at all.
const ONE_LOOK: Duration = Duration::from_secs(2);
/// Tells the document that is left from the one that comes.
const MARK: &str = "void (globalThis[Symbol.for('devtools-test.left')] = true)";
/// Where the page is, once it is another document than the marked one.
const ARRIVED: &str = "document.documentElement !== null && document.readyState !== 'loading' && \
                       !(Symbol.for('devtools-test.left') in globalThis) ? ({ url: location.href, title: document.title }) : null";

/// The tools of this family.
pub(super) fn tools() -> Vec<Tool> {
    vec![
        Tool::new(
            About {
                name: "navigate",
                title: "Go to an address",
                description: "Load another address in the page, or reload it, and wait until its document is there. On \
                              a phone only pages that bring our script stay attached.",
                effect: Effect::Destroys,
            },
            navigate,
        ),
        Tool::new(
            About {
                name: "handle_dialog",
                title: "Answer a dialog",
                description: "Accept or dismiss the native dialog (alert, confirm, prompt, beforeunload) that is open.",
                effect: Effect::Destroys,
            },
            handle_dialog,
        ),
    ]
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
struct Navigate {
    /// The address, absolute or relative to where the page is. Without it the page is reloaded.
    #[serde(default)]
    url: Option<String>,
    /// Milliseconds it may take (30000 unless said).
    #[serde(default)]
    timeout_ms: Option<u64>,
}

/// Where the page is now.
#[derive(Debug, Serialize, JsonSchema)]
struct Arrived {
    url: String,
    title: String,
}

async fn navigate(call: Call, args: Navigate) -> Answered<Arrived> {
    let page = call.page()?;
    if page.is_in_use() {
        return Err(Fault::new(FaultCode::Busy, "A run uses the page.").next("get_debug_status", "see how far it is"));
    }
    let session = page.session();
    let within = args.timeout_ms.map_or(DEFAULT_WITHIN, Duration::from_millis).clamp(ONE_LOOK, MAX_WITHIN);
    let deadline = Instant::now() + within;
    let here = look(session, "location.href").await;
    let here = here.as_ref().and_then(Value::as_str).unwrap_or_default();
    let url = args.url.as_deref().map(|url| address(here, url)).transpose()?;
    look(session, MARK).await;
    let sent = match &url {
        Some(url) => page.send("Page.navigate", json!({ "url": url.as_str() }), within).await?,
        None => page.send("Page.reload", json!({}), LOOK_WITHIN).await?,
    };
    let shown = url.as_ref().map_or_else(|| SafeUrl::new(here), |url| SafeUrl::new(url.as_str())).to_string();
    if let Some(error) = sent["errorText"].as_str().filter(|error| !error.is_empty()) {
        return Err(Fault::new(FaultCode::NotFound, format!("{shown} cannot be loaded.")).because(error));
    }
    // Chrome names no loader where only the fragment changed: the document is the same.
    let stays = page.abilities().debugger && url.is_some() && sent["loaderId"].is_null();
    let arrived = if stays { "({ url: location.href, title: document.title })" } else { ARRIVED };
    let (url, title) = wait(&page, arrived, deadline).await.ok_or_else(|| {
        Fault::new(FaultCode::Timeout, format!("{shown} was not there within {} ms.", within.as_millis()))
            .because("its server does not answer, a dialog is open, or on a phone the page does not bring our script")
            .next("get_debug_status", "see how the page is")
    })?;
    page.debug().change(|view| view.moved(&url, &title));
    let text = format!("At {url}: {title}");
    Ok(Answer::new(Arrived { url, title }, text))
}

/// The address to go to. Only what is loaded from a server: an address with code in it is `evaluate`'s.
fn address(here: &str, asked: &str) -> Result<Url, Fault> {
    let url = match Url::parse(asked) {
        Err(url::ParseError::RelativeUrlWithoutBase) => Url::parse(here).and_then(|here| here.join(asked)),
        parsed => parsed,
    };
    match url {
        Ok(url) if matches!(url.scheme(), "http" | "https") || url.as_str() == "about:blank" => Ok(url),
        Ok(url) => {
            Err(Fault::bad_input(format!("{}: addresses cannot be gone to, only http and https.", url.scheme())))
        }
        Err(error) => Err(Fault::bad_input(format!("url is no address: {error}."))),
    }
}

async fn look(session: &Session, expression: &str) -> Option<Value> {
    let options = EvaluateOptions { return_by_value: true, ..EvaluateOptions::default() };
    evaluate(session, expression, options, ONE_LOOK).await.ok()
}

async fn wait(page: &LivePage, expression: &str, deadline: Instant) -> Option<(String, String)> {
    while Instant::now() < deadline && !page.session().is_closed() {
        let told = timeout(ONE_LOOK, look(page.session(), expression)).await.ok().flatten();
        if let Some(told) = told.filter(Value::is_object) {
            let url = SafeUrl::new(told["url"].as_str().unwrap_or_default()).to_string();
            return Some((url, told["title"].as_str().unwrap_or_default().to_owned()));
        }
        sleep(LOOK_AGAIN).await;
    }
    None
}

#[derive(Clone, Copy, Debug, Deserialize, JsonSchema, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Action {
    Accept,
    Dismiss,
}

#[derive(Debug, Deserialize, JsonSchema)]
struct HandleDialog {
    /// accept (OK) or dismiss (Cancel).
    action: Action,
    /// What to write into a prompt.
    #[serde(default, alias = "promptText")]
    prompt_text: Option<String>,
}

/// A dialog that was answered.
#[derive(Debug, Serialize, JsonSchema)]
struct Handled {
    /// alert, confirm, prompt or beforeunload.
    #[serde(rename = "type")]
    kind: String,
    /// What it said.
    message: String,
}

async fn handle_dialog(call: Call, args: HandleDialog) -> Answered<Handled> {
    let page = call.page()?;
    let Some(dialog) = page.debug().view().dialog else {
        let fault = Fault::new(FaultCode::NotFound, "No dialog is open.");
        return Err(if page.abilities().dialogs {
            fault.because("a dialog during a run is dismissed by the run")
        } else {
            fault.because("the browser of this page does not tell of dialogs; a person has to answer them")
        });
    };
    let mut params = json!({ "accept": args.action == Action::Accept });
    if let Some(text) = &args.prompt_text {
        params["promptText"] = text.clone().into();
    }
    page.send("Page.handleJavaScriptDialog", params, LOOK_WITHIN).await?;
    page.debug().change(|view| view.dialog = None);
    let text = format!("The {} was answered.", dialog.kind);
    Ok(Answer::new(Handled { kind: dialog.kind, message: dialog.message }, text))
}
