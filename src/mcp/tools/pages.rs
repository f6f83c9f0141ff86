//! The pages of a session: one at a time, because a person holds one phone.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::mcp::call::Call;
use crate::mcp::envelope::{Answer, Answered, Fault, FaultCode};
use crate::mcp::page::{LivePage, next_page};
use crate::mcp::tool::{About, Effect, Tool};
use crate::mcp::view::View;
use crate::secret::SafeUrl;

/// A page that is there answers this soon, a slow phone behind a tunnel included.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// The tools of this family.
pub(super) fn tools() -> Vec<Tool> {
    vec![
        Tool::new(
            About {
                name: "list_pages",
                title: "List pages",
                description: "The page that is attached, asked anew whether it answers and where it is; or the one that \
                              was lost. There is one page at a time: a second phone takes its place.",
                effect: Effect::Reads,
            },
            list_pages,
        ),
        Tool::new(
            About {
                name: "select_page",
                title: "Select a page",
                description: "Make sure that the page of this id is the one that is worked with, and bring it to the \
                              front where its browser can. Use it before a series of calls that must not meet another \
                              page.",
                effect: Effect::Changes,
            },
            select_page,
        ),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
struct ListPages {}

/// The pages there are.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Pages {
    pages: Vec<PageShown>,
    /// A page that attaches takes the place of the one that was there.
    single_attach_model: bool,
}

/// A page.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PageShown {
    id: String,
    state: PageState,
    url: String,
    title: String,
    engine: String,
    device: String,
    /// What is known of its state.
    #[serde(skip_serializing_if = "String::is_empty")]
    note: String,
}

/// How a page is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum PageState {
    /// It answers.
    Live,
    /// It is there and does not answer.
    Frozen,
    /// It is on a host on which nothing is evaluated.
    HostNotAllowed,
    /// It is gone.
    Lost,
}

async fn list_pages(call: Call, _: ListPages) -> Answered<Pages> {
    let pages = match &call.debug {
        Some(debug) => known(&call, &debug.view()).await,
        None => Vec::new(),
    };
    let text = match pages.first() {
        Some(page) => format!("{}: {} ({}). {}", page.id, page.url, page.engine, page.note).trim_end().to_owned(),
        None => "No page is attached.".to_owned(),
    };
    Ok(Answer::new(Pages { pages, single_attach_model: true }, text))
}

/// The page of the session, if it ever had one.
async fn known(call: &Call, view: &View) -> Vec<PageShown> {
    let Some(page) = view.last_page() else { return Vec::new() };
    let info = &page.info;
    let mut shown = PageShown {
        id: id(view),
        state: PageState::Live,
        url: info.url.clone(),
        title: info.title.clone(),
        engine: info.engine.clone(),
        device: info.device.clone(),
        note: String::new(),
    };
    match call.page() {
        Err(_) => (shown.state, shown.note) = (PageState::Lost, view.message.clone()),
        Ok(in_use) => match place(&in_use).await {
            Ok((url, title)) => (shown.url, shown.title) = (url, title),
            Err(fault) => {
                let refused = fault.code() == FaultCode::HostNotAllowed;
                shown.state = if refused { PageState::HostNotAllowed } else { PageState::Frozen };
                shown.note = fault.state().to_owned();
            }
        },
    }
    vec![shown]
}

/// Where the page is now.
async fn place(page: &LivePage) -> Result<(String, String), Fault> {
    let (url, title): (String, String) = page.value("[location.href, document.title]", ANSWER_WITHIN).await?;
    Ok((SafeUrl::new(&url).to_string(), title))
}

fn id(view: &View) -> String {
    format!("page-{}", view.pages)
}

#[derive(Debug, Deserialize, JsonSchema)]
struct SelectPage {
    /// Id of the page, as list_pages gives it.
    id: String,
}

/// The page that is worked with.
#[derive(Debug, Serialize, JsonSchema)]
struct Selected {
    id: String,
    url: String,
}

async fn select_page(call: Call, args: SelectPage) -> Answered<Selected> {
    let page = call.page()?;
    let now = id(&page.debug().view());
    if args.id != now {
        return Err(Fault::new(FaultCode::NotFound, format!("There is no page {:?} any more.", args.id))
            .because(format!("{now} is attached"))
            .next("list_pages", "see which page there is"));
    }
    if page.abilities().debugger {
        page.command("Page.bringToFront", json!({}), ANSWER_WITHIN).await?;
    }
    let (url, _) =
        place(&page).await.map_err(|fault| fault.next(next_page(page.debug().mode), "get a page that answers"))?;
    let text = format!("{now} is worked with: {url}");
    Ok(Answer::new(Selected { id: now, url }, text))
}
