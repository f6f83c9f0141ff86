//! The pages of a session. Over the relay there is one at a time, because a person holds one phone; in a browser of this
//! machine others may be open beside it.

use std::collections::VecDeque;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::chrome::{OpenPage, open_pages};
use crate::mcp::call::Call;
use crate::mcp::envelope::{Answer, Answered, Fault, FaultCode};
use crate::mcp::page::{LivePage, next_page};
use crate::mcp::tool::{About, Effect, Tool};
use crate::mcp::view::{View, page_id};
use crate::secret::SafeUrl;

/// A page that is there answers this soon, a slow phone behind a tunnel included.
const ANSWER_WITHIN: Duration = Duration::from_secs(5);

/// Pages that are listed; a page that opens more has lost control of itself.
const MAX_PAGES: usize = 20;

/// The tools of this family.
pub(super) fn tools() -> Vec<Tool> {
    vec![
        Tool::new(
            About {
                name: "list_pages",
                title: "List pages",
                description: "The page that is attached, asked anew whether it answers and where it is, or the one that \
                              was lost; in a browser of this machine its popups and other tabs, too. Tests run in the \
                              attached one. Over the relay there is one page at a time; notes tell of others that called.",
                effect: Effect::Reads,
            },
            list_pages,
        ),
        Tool::new(
            About {
                name: "select_page",
                title: "Select a page",
                description: "Work with the page of this id from now on (a popup, or back to the first one), and bring it \
                              to the front where its browser can. Also makes sure that a series of calls meets no other \
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
    /// The one that tools and runs work with first.
    pages: Vec<PageShown>,
    /// A page that attaches takes the place of the one that was there.
    single_attach_model: bool,
    /// What else is there and is not listed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    left_out: Vec<String>,
    /// What became of other pages that called.
    #[serde(skip_serializing_if = "VecDeque::is_empty")]
    notes: VecDeque<String>,
}

/// A page.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct PageShown {
    id: String,
    /// Tools work with it, and runs.
    attached: bool,
    state: PageState,
    url: String,
    title: String,
    #[serde(skip_serializing_if = "String::is_empty")]
    engine: String,
    #[serde(skip_serializing_if = "String::is_empty")]
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
    /// It is open in the same browser, and was not asked anything.
    Open,
}

async fn list_pages(call: Call, _: ListPages) -> Answered<Pages> {
    let mut all = Pages { pages: Vec::new(), single_attach_model: true, left_out: Vec::new(), notes: VecDeque::new() };
    if let Some(debug) = &call.debug {
        let view = debug.view();
        all.pages = known(&call, &view).await;
        all.notes = view.notes;
        if let Ok(page) = call.page() {
            beside(&page, &mut all).await;
        }
    }
    let mut text = match all.pages.first() {
        Some(page) => format!("{}: {} ({}). {}", page.id, page.url, page.engine, page.note).trim_end().to_owned(),
        None => "No page is attached.".to_owned(),
    };
    if all.pages.len() > 1 {
        text.push_str(&format!(" {} more in its browser: select_page changes to one.", all.pages.len() - 1));
    }
    if !all.left_out.is_empty() {
        text.push_str(&format!(" Left out: {}.", all.left_out.join(", ")));
    }
    Ok(Answer::new(all, text))
}

/// Adds what else is open in the browser of a page.
async fn beside(page: &LivePage, all: &mut Pages) {
    if !page.abilities().debugger {
        return;
    }
    let Ok(open) = open_pages(page.session()).await else {
        all.left_out.push("other pages (this browser has no list of them)".into());
        return;
    };
    page.debug().change(|view| view.is_in(&open.own));
    let others: Vec<_> = open.pages.into_iter().filter(|other| other.target != open.own).collect();
    if others.len() > MAX_PAGES {
        all.left_out.push(format!("{} pages", others.len() - MAX_PAGES));
    }
    for OpenPage { target, url, title } in others.into_iter().take(MAX_PAGES) {
        let mut number = 0;
        page.debug().change(|view| number = view.number_of(&target));
        let (engine, device, note) = (String::new(), String::new(), String::new());
        let id = page_id(number);
        all.pages.push(PageShown { id, attached: false, state: PageState::Open, url, title, engine, device, note });
    }
    all.left_out.extend(open.other.iter().map(|(kind, count)| format!("{count} {kind}")));
}

/// The page of the session, if it ever had one.
async fn known(call: &Call, view: &View) -> Vec<PageShown> {
    let Some(page) = view.last_page() else { return Vec::new() };
    let info = &page.info;
    let mut shown = PageShown {
        id: view.page_id(),
        attached: true,
        state: PageState::Live,
        url: info.url.clone(),
        title: info.title.clone(),
        engine: info.engine.clone(),
        device: info.device.clone(),
        note: String::new(),
    };
    match call.page() {
        Err(_) => (shown.attached, shown.state, shown.note) = (false, PageState::Lost, view.message.clone()),
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
    let mut page = call.page()?;
    if args.id != page.debug().view().page_id() {
        let _turn = call.turn()?;
        let (target, number) = page.debug().view().target(&args.id).ok_or_else(|| unknown(&page, &args.id))?;
        let open = open_pages(page.session()).await;
        if open.is_ok_and(|open| !open.pages.iter().any(|other| other.target == target)) {
            return Err(unknown(&page, &args.id));
        }
        page.debug().change_to(&target, number).await.map_err(|fault| fault.next("list_pages", "see what is open"))?;
        page = call.page()?;
    }
    if page.abilities().debugger {
        page.command("Page.bringToFront", json!({}), ANSWER_WITHIN).await?;
    }
    let (url, _) =
        place(&page).await.map_err(|fault| fault.next(next_page(page.debug().mode), "get a page that answers"))?;
    let text = format!("{} is worked with: {url}", args.id);
    Ok(Answer::new(Selected { id: args.id, url }, text))
}

fn unknown(page: &LivePage, id: &str) -> Fault {
    Fault::new(FaultCode::NotFound, format!("There is no page {id:?}, or no more."))
        .because(format!("{} is attached", page.debug().view().page_id()))
        .next("list_pages", "see which pages there are")
}
