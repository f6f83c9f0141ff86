//! `take_snapshot`, `get_dom_document` and `measure_safe_area`: what a page looks like to somebody who cannot see it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::assets;
use crate::mcp::call::Call;
use crate::mcp::envelope::{Answer, Answered, Fault, FaultCode};
use crate::mcp::page::LOOK_WITHIN;
use crate::mcp::tool::{About, Effect, Tool};
use crate::mcp::whole;

/// How deep the document is shown unless another number is asked for.
const DEFAULT_DEPTH: usize = 12;
/// The deepest that can be asked for.
const MAX_DEPTH: usize = 200;

/// The tools of this family.
pub(super) fn tools() -> Vec<Tool> {
    let about = |name, title, description| About { name, title, description, effect: Effect::Reads };
    vec![
        Tool::new(
            about(
                "take_snapshot",
                "Take a snapshot",
                "What a screen reader would say of the page: roles, names, states, one element a line, each with a ref \
                 that stays the same while the element is there. Give a ref to evaluate, or here to look closer.",
            ),
            take_snapshot,
        ),
        Tool::new(
            about(
                "get_dom_document",
                "Get the document",
                "The document as indented markup, cut by depth and length; selector or ref shows one part. Prefer \
                 take_snapshot to find out what is on the page.",
            ),
            get_dom_document,
        ),
        Tool::new(
            about(
                "measure_safe_area",
                "Measure the safe area",
                "The edges of the screen the page must leave free, by CSS and by the SDK, and the size of the page.",
            ),
            measure_safe_area,
        ),
    ]
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
struct TakeSnapshot {
    /// Only the element of this ref.
    #[serde(default, rename = "ref")]
    element: Option<String>,
    /// Only the first element of this CSS selector.
    #[serde(default)]
    selector: Option<String>,
    /// Most characters to give (4000 unless said).
    #[serde(default)]
    max_chars: Option<usize>,
}

/// A snapshot.
#[derive(Debug, Serialize, JsonSchema)]
struct Snapshot {
    /// `- role "name" states [ref]`, a line each, two blanks deeper than what it is in.
    snapshot: String,
    /// Lines left out because of `max_chars`.
    left_out: u64,
}

async fn take_snapshot(call: Call, args: TakeSnapshot) -> Answered<Snapshot> {
    let page = call.page()?;
    let options = json!({ "ref": args.element, "selector": args.selector, "maxChars": whole::chars(args.max_chars) });
    let told: Value = page.ask(assets::INSPECT, "snapshot", &[without_null(options)], LOOK_WITHIN).await?;
    if told.is_null() {
        return Err(no_element());
    }
    let lines: Vec<&str> = told["lines"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let left_out = count(&told["leftOut"]);
    let text = format!("{} lines{}", lines.len(), left_out_words(left_out, "give ref or selector to look closer"));
    Ok(Answer::new(Snapshot { snapshot: lines.join("\n"), left_out }, text))
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
struct GetDomDocument {
    /// Only the element of this ref of take_snapshot.
    #[serde(default, rename = "ref")]
    element: Option<String>,
    /// Only the first element of this CSS selector.
    #[serde(default)]
    selector: Option<String>,
    /// How deep (12 unless said).
    #[serde(default)]
    depth: Option<usize>,
    /// Most characters to give (4000 unless said).
    #[serde(default)]
    max_chars: Option<usize>,
}

/// A document.
#[derive(Debug, Serialize, JsonSchema)]
struct Document {
    /// Its markup, indented; open shadow roots are shown as the children of their host.
    html: String,
    /// Elements shown.
    elements: u64,
    /// Elements left out because of `depth` or `max_chars`.
    left_out: u64,
}

async fn get_dom_document(call: Call, args: GetDomDocument) -> Answered<Document> {
    let page = call.page()?;
    let depth = args.depth.unwrap_or(DEFAULT_DEPTH).min(MAX_DEPTH);
    let options = json!({
        "ref": args.element, "selector": args.selector, "depth": depth, "maxChars": whole::chars(args.max_chars),
    });
    let told: Value = page.ask(assets::INSPECT, "outline", &[without_null(options)], LOOK_WITHIN).await?;
    if told.is_null() {
        return Err(no_element());
    }
    let (elements, left_out) = (count(&told["elements"]), count(&told["leftOut"]));
    let text =
        format!("{elements} elements{}", left_out_words(left_out, "give selector, depth or max_chars to see more"));
    Ok(Answer::new(Document { html: told["html"].as_str().unwrap_or_default().into(), elements, left_out }, text))
}

/// What was not asked for must be missing, and not `null`.
fn without_null(mut options: Value) -> Value {
    if let Value::Object(fields) = &mut options {
        fields.retain(|_, value| !value.is_null());
    }
    options
}

fn count(value: &Value) -> u64 {
    value.as_u64().unwrap_or_default()
}

fn left_out_words(left_out: u64, how: &str) -> String {
    if left_out == 0 { ".".into() } else { format!("; {left_out} left out ({how}).") }
}

fn no_element() -> Fault {
    Fault::new(FaultCode::NotFound, "There is no such element in the document.")
        .because("refs end with their element, selectors may match nothing")
        .next("take_snapshot", "see what is there")
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
struct MeasureSafeArea {}

/// What was found, in CSS pixels.
#[derive(Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct SafeArea {
    source: String,
    css_env: Insets,
    sdk_insets: Option<Insets>,
    sdk_insets_source: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sdk_insets_error: Option<String>,
    nav_bar_height: Option<f64>,
    nav_bar_height_source: Option<String>,
    inner_width: f64,
    inner_height: f64,
    device_pixel_ratio: f64,
    user_agent: String,
}

#[derive(Debug, Deserialize, Serialize, JsonSchema)]
struct Insets {
    top: f64,
    right: f64,
    bottom: f64,
    left: f64,
}

async fn measure_safe_area(call: Call, _: MeasureSafeArea) -> Answered<SafeArea> {
    let page = call.page()?;
    let area: SafeArea = page.ask(assets::INSPECT, "safeArea", &[], LOOK_WITHIN).await?;
    let insets = area.sdk_insets.as_ref().unwrap_or(&area.css_env);
    let text = format!(
        "top {}, right {}, bottom {}, left {} by {}; page {} x {} at {}.",
        insets.top,
        insets.right,
        insets.bottom,
        insets.left,
        area.source,
        area.inner_width,
        area.inner_height,
        area.device_pixel_ratio
    );
    Ok(Answer::new(area, text))
}
