//! The other pages of a browser: popups, tabs that a page or a person opened.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::ChromeError;
use super::open::{Opening, open};
use crate::cdp::page::Page;
use crate::cdp::{CdpError, Session};
use crate::event::Events;
use crate::secret::SafeUrl;

/// The browser process answers at once, whatever its pages do.
const BROWSER_WITHIN: Duration = Duration::from_secs(5);

/// A page that is open in the browser.
#[derive(Clone, Debug)]
pub struct OpenPage {
    /// Its target.
    pub target: String,
    /// Where it is.
    pub url: String,
    /// What it is called.
    pub title: String,
}

/// What is open in the browser of a page.
#[derive(Clone, Debug)]
pub struct OpenPages {
    /// The target of the page itself.
    pub own: String,
    /// All pages, that one among them.
    pub pages: Vec<OpenPage>,
    /// What is no page (workers, frames, the browser's own), by kind.
    pub other: BTreeMap<String, usize>,
}

/// Looks at what is open in the browser of a page.
///
/// # Errors
/// The browser has no list, as those of Android WebViews, or does not answer.
pub async fn open_pages(session: &Session) -> Result<OpenPages, CdpError> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Info {
        target_id: String,
        #[serde(default, rename = "type")]
        kind: String,
        #[serde(default)]
        url: String,
        #[serde(default)]
        title: String,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Own {
        target_info: Info,
    }
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct All {
        target_infos: Vec<Info>,
    }
    let root = session.client().root();
    let own: Own = session.call("Target.getTargetInfo", json!({}), BROWSER_WITHIN).await?;
    let all: All = root.call("Target.getTargets", json!({}), BROWSER_WITHIN).await?;
    let mut found = OpenPages { own: own.target_info.target_id, pages: Vec::new(), other: BTreeMap::new() };
    for Info { target_id, kind, url, title } in all.target_infos {
        let of_the_browser = ["devtools:", "chrome:", "chrome-extension:"].iter().any(|scheme| url.starts_with(scheme));
        if kind != "page" || of_the_browser {
            *found.other.entry(if kind == "page" { "page of the browser".into() } else { kind }).or_default() += 1;
            continue;
        }
        found.pages.push(OpenPage { target: target_id, url: SafeUrl::new(&url).to_string(), title });
    }
    Ok(found)
}

/// Opens a session with another page of the browser of this one.
///
/// # Errors
/// The page is gone, or does not answer within `within`.
pub async fn attach_beside(
    session: &Session,
    target: &str,
    first_script: Option<&str>,
    within: Duration,
    events: &Events,
) -> Result<Page, ChromeError> {
    let opening = Opening { url: None, first_script, bypass_csp: false, within, events };
    open(session.client(), target, opening).await
}

/// Ends a session, and leaves its page as it is.
pub async fn let_go(session: &Session) {
    let params = json!({ "sessionId": session.id() });
    // A page that is gone has been let go.
    drop(session.client().root().call::<Value>("Target.detachFromTarget", params, BROWSER_WITHIN).await);
}
