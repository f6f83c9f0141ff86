//! Opens a page in a target: enables what we listen to and waits until its document can be tested.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};
use tokio::time::Instant;

use super::ChromeError;
use crate::cdp::page::{Abilities, Page};
use crate::cdp::page_domain::dismiss_all;
use crate::cdp::runtime::{self, EvaluateOptions};
use crate::cdp::{Client, Session};
use crate::event::PageInfo;
use crate::secret::SafeUrl;

/// What every Chrome can do.
pub(super) const ABILITIES: Abilities = Abilities { debugger: true, dialogs: true, new_document_scripts: true };

/// One small call to a page of ours.
const CALL_WITHIN: Duration = Duration::from_secs(10);
/// How long a page may take until its document is there. Servers that build on the first request take their time.
const NAVIGATE_WITHIN: Duration = Duration::from_secs(60);
/// Pause between two looks at a document that is not there yet.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Attaches to a target and goes to `url` in it, or stays where it is.
pub(super) async fn open(client: &Client, target: &str, url: Option<&str>) -> Result<Page, ChromeError> {
    let session = client.attach(target).await?;
    open_in(session, url).await
}

/// The same in a session that is there already.
pub(super) async fn open_in(session: Session, url: Option<&str>) -> Result<Page, ChromeError> {
    let enabled = async {
        let page = session.call::<Value>("Page.enable", json!({}), CALL_WITHIN);
        let inspector = session.call::<Value>("Inspector.enable", json!({}), CALL_WITHIN);
        // An endpoint that lacks Inspector only loses the news of a crash; its socket still closes.
        let (page, _) = tokio::join!(page, inspector);
        page.map(drop)
    };
    enabled.await?;
    let ready = async {
        if let Some(url) = url {
            navigate(&session, url).await?;
        }
        info(&session).await
    };
    let info = tokio::select! {
        info = ready => info?,
        never = dismiss_all(&session) => match never {},
    };
    Ok(Page { session, info, abilities: ABILITIES })
}

/// Ready is a document of the right address that can be evaluated in; `load` may never come (O-02).
async fn navigate(session: &Session, url: &str) -> Result<(), ChromeError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Navigated {
        #[serde(default)]
        error_text: Option<String>,
        #[serde(default)]
        loader_id: Option<String>,
    }
    let failed = |why: String| ChromeError::Page { url: SafeUrl::new(url).to_string(), why };
    let navigated: Navigated = session
        .call("Page.navigate", json!({ "url": url }), NAVIGATE_WITHIN)
        .await
        .map_err(|error| failed(error.to_string()))?;
    if let Some(error) = navigated.error_text.filter(|text| !text.is_empty()) {
        return Err(failed(explain(&error)));
    }
    // Without a loader it was a jump within the document that is there.
    if navigated.loader_id.is_none() {
        return Ok(());
    }
    let deadline = Instant::now() + NAVIGATE_WITHIN;
    let arrived = "location.href !== 'about:blank' && document.documentElement !== null";
    while Instant::now() < deadline {
        if let Ok(Value::Bool(true)) = evaluate(session, arrived).await {
            return Ok(());
        }
        if session.is_closed() {
            return Err(failed(session.closed().await.to_string()));
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
    Err(failed(format!("no document after {}s", NAVIGATE_WITHIN.as_secs())))
}

fn explain(error: &str) -> String {
    let why = match error {
        "net::ERR_CONNECTION_REFUSED" => "nothing listens there; is its server running?",
        "net::ERR_NAME_NOT_RESOLVED" => "its name cannot be resolved",
        "net::ERR_CERT_AUTHORITY_INVALID" | "net::ERR_CERT_COMMON_NAME_INVALID" => "its certificate is not trusted",
        "net::ERR_INVALID_URL" => "it is no address",
        _ => return error.to_owned(),
    };
    format!("{why} ({error})")
}

async fn evaluate(session: &Session, expression: &str) -> Result<Value, runtime::EvaluateError> {
    let options = EvaluateOptions { return_by_value: true, ..EvaluateOptions::default() };
    runtime::evaluate(session, expression, options, CALL_WITHIN).await
}

async fn info(session: &Session) -> Result<PageInfo, ChromeError> {
    #[derive(Default, Deserialize)]
    struct Told {
        url: String,
        title: String,
        agent: String,
    }
    let ask = "({ url: location.href, title: document.title, agent: navigator.userAgent })";
    let told = match evaluate(session, ask).await {
        Ok(value) => serde_json::from_value::<Told>(value).unwrap_or_default(),
        Err(runtime::EvaluateError::Cdp(error)) => return Err(error.into()),
        Err(error) => return Err(ChromeError::Page { url: "in the browser".into(), why: error.to_string() }),
    };
    Ok(PageInfo {
        url: SafeUrl::new(&told.url).to_string(),
        title: told.title,
        engine: crate::user_agent::engine(&told.agent),
        device: crate::user_agent::device(&told.agent),
        user_agent: told.agent,
    })
}
