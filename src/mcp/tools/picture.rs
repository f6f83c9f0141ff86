//! `take_screenshot`: what the page looks like.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::ContentBlock;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::mcp::call::Call;
use crate::mcp::envelope::{Answer, Answered, Fault, FaultCode};
use crate::mcp::page::LOOK_WITHIN;
use crate::mcp::tool::{About, Effect, Tool};
use crate::mcp::whole::keep;

/// A picture of more base64 characters than this is only kept in its file: few clients take a larger one.
const MAX_INLINE: usize = 4 << 20;

/// The tools of this family.
pub(super) fn tools() -> Vec<Tool> {
    vec![Tool::new(
        About {
            name: "take_screenshot",
            title: "Take a screenshot",
            description: "A picture of the page, as an image and as a file. Only where the page's browser can make one: \
                          a script in a page cannot, so on phones use take_snapshot.",
            effect: Effect::Reads,
        },
        take_screenshot,
    )]
}

#[derive(Clone, Copy, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Format {
    #[default]
    Png,
    Jpeg,
}

#[derive(Debug, Default, Deserialize, JsonSchema)]
struct TakeScreenshot {
    /// The kind of picture (png unless said).
    #[serde(default)]
    format: Format,
    /// The whole document, not only what is in view.
    #[serde(default, alias = "fullPage")]
    full_page: bool,
    /// False: only the file, no image in the answer.
    #[serde(default)]
    image: Option<bool>,
}

/// A picture.
#[derive(Debug, Serialize, JsonSchema)]
struct Screenshot {
    /// Where it is, until the server ends.
    file: String,
    /// Its size.
    bytes: usize,
    /// Whether it is in this answer, too.
    inline: bool,
}

async fn take_screenshot(call: Call, args: TakeScreenshot) -> Answered<Screenshot> {
    let page = call.page()?;
    if !page.abilities().debugger {
        return Err(Fault::new(FaultCode::Unsupported, "This page cannot be made a picture of.")
            .because("its browser is not reached itself, only a script in the page")
            .next("take_snapshot", "see what is on the page"));
    }
    let (format, suffix, media) = match args.format {
        Format::Png => ("png", ".png", "image/png"),
        Format::Jpeg => ("jpeg", ".jpg", "image/jpeg"),
    };
    let params = json!({ "format": format, "captureBeyondViewport": args.full_page });
    let picture: Value = page.command("Page.captureScreenshot", params, LOOK_WITHIN).await?;
    let data = picture["data"].as_str().unwrap_or_default();
    let bytes = STANDARD.decode(data).map_err(|error| {
        Fault::new(FaultCode::Unsupported, "The browser sent no picture.").because(error.to_string())
    })?;
    let file = keep(&call, "screenshot-", suffix, &bytes)?;
    let inline = args.image.unwrap_or(true) && data.len() <= MAX_INLINE;
    let text = format!("A picture of {} bytes: {file}", bytes.len());
    let mut answer = Answer::new(Screenshot { file, bytes: bytes.len(), inline }, text);
    if inline {
        answer.more.push(ContentBlock::image(data.to_owned(), media));
    }
    Ok(answer)
}
