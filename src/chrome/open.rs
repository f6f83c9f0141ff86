//! Opens a page in a target: enables what we listen to and waits until its document can be tested.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::ChromeError;
use crate::cdp::page::{Abilities, Page};
use crate::cdp::page_domain::dismiss_all;
use crate::cdp::runtime::{self, EvaluateOptions};
use crate::cdp::{Client, Session};
use crate::event::{EventKind, Events, NoticeLevel, PageInfo};
use crate::secret::{Hidden, SafeUrl};

/// What every Chrome can do.
pub(super) const ABILITIES: Abilities = Abilities { debugger: true, dialogs: true, new_document_scripts: true };

/// One small call to a page of ours.
const CALL_WITHIN: Duration = Duration::from_secs(10);
/// A page that is not there by then is said to be waited for: longer than any server takes that is only busy, short
/// enough to explain a standstill while a person still wonders.
const TELL_AFTER: Duration = Duration::from_secs(3);
/// Pause between two looks at a document that is not there yet.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// How a page is opened.
#[derive(Clone, Copy)]
pub(super) struct Opening<'a> {
    /// Where to go in it; without it the page stays where it is.
    pub(super) url: Option<&'a str>,
    /// A script to run in each of its documents before their own.
    pub(super) first_script: Option<&'a str>,
    /// Whether the page may connect to what its content security policy forbids.
    pub(super) bypass_csp: bool,
    /// How long the page may take until its document is there.
    pub(super) within: Duration,
    /// Where to say that it is waited for.
    pub(super) events: &'a Events,
}

/// Attaches to a target and opens the page in it.
pub(super) async fn open(client: &Client, target: &str, opening: Opening<'_>) -> Result<Page, ChromeError> {
    let session = client.attach(target).await?;
    open_in(session, opening).await
}

/// The same in a session that is there already.
pub(super) async fn open_in(session: Session, opening: Opening<'_>) -> Result<Page, ChromeError> {
    let enabled = async {
        let page = session.call::<Value>("Page.enable", json!({}), CALL_WITHIN);
        let inspector = session.call::<Value>("Inspector.enable", json!({}), CALL_WITHIN);
        // An endpoint that lacks Inspector only loses the news of a crash; its socket still closes.
        let (page, _) = tokio::join!(page, inspector);
        page.map(drop)
    };
    enabled.await?;
    if let Some(script) = opening.first_script {
        let params = json!({ "source": script });
        session.call::<Value>("Page.addScriptToEvaluateOnNewDocument", params, CALL_WITHIN).await?;
    }
    if opening.bypass_csp {
        session.call::<Value>("Page.setBypassCSP", json!({ "enabled": true }), CALL_WITHIN).await?;
    }
    let ready = async {
        if let Some(url) = opening.url {
            arrive(&session, url, opening).await?;
        }
        info(&session).await
    };
    let info = tokio::select! {
        info = ready => info?,
        never = dismiss_all(&session) => match never {},
    };
    Ok(Page { session, info, abilities: ABILITIES })
}

/// Goes to the page, tells when that takes long, and gives up when it takes too long.
async fn arrive(session: &Session, url: &str, opening: Opening<'_>) -> Result<(), ChromeError> {
    let shown = SafeUrl::new(url).to_string();
    let limit = format!("{}s (--navigation-timeout)", opening.within.as_secs_f64());
    let tell = async {
        tokio::time::sleep(TELL_AFTER).await;
        let message = format!("{shown} has not answered yet; waiting up to {limit}");
        opening.events.emit_global(EventKind::Notice { level: NoticeLevel::Info, message }).await;
        std::future::pending().await
    };
    let arrived = tokio::select! {
        arrived = tokio::time::timeout(opening.within, navigate(session, url, opening.within)) => arrived,
        never = tell => never,
    };
    let why = match arrived {
        Ok(Ok(())) => return Ok(()),
        Ok(Err(why)) => why,
        Err(_) => format!("no document of it came within {limit}; does its server answer?"),
    };
    Err(ChromeError::Page { url: shown, why })
}

/// Ready is a document of the right address that can be evaluated in; `load` may never come (O-02).
async fn navigate(session: &Session, url: &str, within: Duration) -> Result<(), String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Navigated {
        #[serde(default)]
        error_text: Option<String>,
        #[serde(default)]
        loader_id: Option<String>,
    }
    // Whoever waits for this has the limit, and the words for it.
    let call = session.call("Page.navigate", json!({ "url": url }), within + CALL_WITHIN);
    let navigated: Navigated = call.await.map_err(|error| error.to_string())?;
    if let Some(error) = navigated.error_text.filter(|text| !text.is_empty()) {
        return Err(explain(&error));
    }
    // Without a loader it was a jump within the document that is there.
    if navigated.loader_id.is_none() {
        return Ok(());
    }
    let arrived = "location.href !== 'about:blank' && document.documentElement !== null";
    loop {
        if let Ok(Value::Bool(true)) = evaluate(session, arrived).await {
            return Ok(());
        }
        if session.is_closed() {
            return Err(session.closed().await.to_string());
        }
        tokio::time::sleep(LOOK_AGAIN).await;
    }
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

/// The address of a page as it is, to go there again; what may be shown of it is in its [`PageInfo`].
pub(super) async fn address(session: &Session) -> Result<Hidden, ChromeError> {
    match evaluate(session, "location.href").await {
        Ok(address) => Ok(Hidden::new(address.as_str().unwrap_or_default())),
        Err(runtime::EvaluateError::Exception(_)) => Ok(Hidden::new("")),
        Err(runtime::EvaluateError::Cdp(error)) => Err(error.into()),
    }
}

async fn info(session: &Session) -> Result<PageInfo, ChromeError> {
    #[derive(Default, Deserialize)]
    struct Told {
        url: String,
        title: String,
        agent: String,
    }
    // A page may have put anything in their places.
    let ask = "(told => ({ url: told(() => location.href), title: told(() => document.title), \
               agent: told(() => navigator.userAgent) }))\
               (read => { try { return `${read()}`.slice(0, 2000); } catch { return ''; } })";
    let told = match evaluate(session, ask).await {
        Ok(value) => serde_json::from_value::<Told>(value).unwrap_or_default(),
        Err(runtime::EvaluateError::Exception(_)) => Told::default(),
        Err(runtime::EvaluateError::Cdp(error)) => return Err(error.into()),
    };
    Ok(PageInfo {
        app_version: None,
        url: SafeUrl::new(&told.url).to_string(),
        title: told.title,
        engine: crate::user_agent::engine(&told.agent),
        device: crate::user_agent::device(&told.agent),
        user_agent: told.agent,
    })
}
