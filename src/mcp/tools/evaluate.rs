//! `evaluate` and `call_sdk`: code in the page.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::assets;
use crate::cdp::RemoteObject;
use crate::mcp::call::Call;
use crate::mcp::envelope::{Answer, Answered, Fault, FaultCode};
use crate::mcp::page::{LOOK_WITHIN, LivePage};
use crate::mcp::sdk;
use crate::mcp::store::Kind;
use crate::mcp::tool::{About, Effect, Tool};
use crate::mcp::whole::Whole;

/// How long code may take unless another number is asked for.
const DEFAULT_WITHIN: Duration = Duration::from_secs(10);
/// The longest time that can be asked for.
const MAX_WITHIN: Duration = Duration::from_secs(300);
/// An exception this soon after a call of the SDK is most likely of its making.
const EXCEPTION_WITHIN: Duration = Duration::from_millis(200);

/// The tools of this family.
pub(super) fn tools() -> Vec<Tool> {
    vec![
        Tool::new(
            About {
                name: "evaluate",
                title: "Evaluate JavaScript",
                description: "Run JavaScript in the attached page and answer with its value. Promises are awaited; a \
                              function is called (with the element of ref, if given). What is no JSON is described.",
                effect: Effect::Destroys,
            },
            evaluate,
        ),
        Tool::new(
            About {
                name: "call_sdk",
                title: "Call the SDK",
                description: "Call a function of the mini-app's SDK (window.__sdk) in the attached page, as the app \
                              would. Arguments of known functions are checked first: wrong ones crash the host app.",
                effect: Effect::Destroys,
            },
            call_sdk,
        ),
    ]
}

#[derive(Debug, Deserialize, JsonSchema)]
struct Evaluate {
    /// An expression, statements, or a function.
    expression: String,
    /// A ref of take_snapshot; the expression is a function then, and gets the element.
    #[serde(default, rename = "ref")]
    element: Option<String>,
    /// Milliseconds it may take (10000 unless said, at most 300000).
    #[serde(default)]
    timeout_ms: Option<u64>,
    /// Most characters of the value to give (4000 unless said).
    #[serde(default)]
    max_chars: Option<usize>,
}

/// A value of the page.
#[derive(Debug, Serialize, JsonSchema)]
struct Evaluated {
    /// What it is: `string`, `Array`, a class.
    #[serde(rename = "type")]
    kind: String,
    /// The value, or its first characters.
    value: Value,
    /// Whether `value` is all of it, without words in place of what is no JSON.
    exact: bool,
    /// Where it is whole, if `value` is cut.
    #[serde(skip_serializing_if = "Option::is_none")]
    file: Option<String>,
}

/// As `describe` of `test-runner/src/evaluate` tells of a value.
#[derive(Debug, Deserialize)]
struct Described {
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    value: Value,
    exact: bool,
}

fn within(asked: Option<u64>) -> Duration {
    asked.map_or(DEFAULT_WITHIN, Duration::from_millis).clamp(Duration::from_millis(1), MAX_WITHIN)
}

async fn evaluate(call: Call, args: Evaluate) -> Answered<Evaluated> {
    let page = call.page()?;
    let within = within(args.timeout_ms);
    let object = match &args.element {
        Some(element) => page.evaluate(&with_element(&args.expression, element), within).await?,
        None => expression(&page, &args.expression, within).await?,
    };
    let object = if object.kind == "function" { called(&page, object, within).await? } else { object };
    let mut described = described(&page, object).await?;
    page.clean(&mut described.value);
    let exact = described.exact;
    let whole = Whole::of(&call, "evaluate", described.value, args.max_chars)?;
    let text = format!("{}: {}", described.kind, short(&whole.value));
    let data =
        Evaluated { kind: described.kind, value: whole.value, exact: exact && whole.file.is_none(), file: whole.file };
    Ok(Answer::new(data, text))
}

/// The first line of a value, for the text beside the data.
fn short(value: &Value) -> String {
    let mut text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    crate::mcp::store::cut(&mut text, 200);
    text
}

/// `{ a: 1 }` and `function () {}` are meant as values, as in a console; as statements they would give nothing.
async fn expression(page: &LivePage, code: &str, within: Duration) -> Result<RemoteObject, Fault> {
    let code = code.trim();
    let meant_as_value = ["{", "function", "async function", "class "].iter().any(|start| code.starts_with(start));
    if meant_as_value {
        match page.evaluate(&format!("(\n{}\n)", code.trim_end_matches(';')), within).await {
            Err(fault) if fault.state().contains("SyntaxError") => {}
            done => return done,
        }
    }
    page.evaluate(code, within).await
}

fn with_element(function: &str, element: &str) -> String {
    let name = Value::from(element);
    format!(
        "(() => {{ const api = {}\nconst element = api.elementOf({name});\nif (!element) throw new \
         ReferenceError('there is no element ' + {name} + ' any more: take a snapshot anew');\nreturn \
         (\n{function}\n)(element); }})()",
        assets::INSPECT
    )
}

async fn called(page: &LivePage, function: RemoteObject, within: Duration) -> Result<RemoteObject, Fault> {
    match &function.object_id {
        Some(id) => page.call_on(id, "function () { return this(); }", false, within).await,
        None => Ok(function),
    }
}

async fn described(page: &LivePage, object: RemoteObject) -> Result<Described, Fault> {
    if let Some(id) = &object.object_id {
        let describe = format!("function () {{ const api = {}\nreturn api.describe(this); }}", assets::EVALUATE);
        let told = page.call_on(id, &describe, true, LOOK_WITHIN).await?;
        return serde_json::from_value(told.value.unwrap_or_default()).map_err(|error| {
            Fault::new(FaultCode::PageThrew, "The value cannot be described.").because(error.to_string())
        });
    }
    let kind = if object.subtype.is_empty() { object.kind.clone() } else { object.subtype.clone() };
    match object.value {
        Some(value) if object.unserializable_value.is_empty() => Ok(Described { kind, value, exact: true }),
        None if kind == "null" => Ok(Described { kind, value: Value::Null, exact: true }),
        _ => Ok(Described { value: format!("[{}]", object.text()).into(), kind, exact: false }),
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
struct CallSdk {
    /// The function; a dotted name leads through objects (Storage.getItem).
    name: String,
    /// Its arguments.
    #[serde(default)]
    args: Vec<Value>,
    /// Milliseconds it may take (10000 unless said, at most 300000).
    #[serde(default)]
    timeout_ms: Option<u64>,
}

/// How a call of the SDK ended.
#[derive(Debug, Serialize, JsonSchema)]
struct SdkCalled {
    /// Whether it gave a value.
    ok: bool,
    /// The value.
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Value>,
    /// What it threw, or was rejected with.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<Value>,
    /// An error nobody caught, thrown during the call or right after it.
    #[serde(rename = "recentException", skip_serializing_if = "Option::is_none")]
    recent_exception: Option<Value>,
    /// What to bear in mind.
    #[serde(skip_serializing_if = "Option::is_none")]
    warning: Option<String>,
}

async fn call_sdk(call: Call, args: CallSdk) -> Answered<SdkCalled> {
    let warning = sdk::check(&args.name, &args.args).map_err(Fault::bad_input)?;
    let page = call.page()?;
    let before = page.debug().store.list(Kind::Exceptions).total;
    let params = [json!(args.name), Value::Array(args.args)];
    let told: Value = page.ask(assets::EVALUATE, "callSdk", &params, within(args.timeout_ms)).await?;
    if let Some(missing) = told["missing"].as_str() {
        return Err(missing_sdk(missing, &args.name, &told["known"]));
    }
    tokio::time::sleep(EXCEPTION_WITHIN).await;
    let exceptions = page.debug().store.list(Kind::Exceptions).entries;
    let recent_exception = exceptions.into_iter().rfind(|entry| entry.n > before).map(|entry| entry.value);
    let ok = told["ok"] == true;
    let value = ok.then(|| told["value"].clone());
    let error = (!ok).then(|| told["error"].clone());
    let mut text = match (&value, &error) {
        (Some(value), _) => format!("{} gave {}", args.name, short(value)),
        (_, Some(error)) => format!("{} failed: {}", args.name, error["message"].as_str().unwrap_or_default()),
        _ => String::new(),
    };
    if let Some(exception) = &recent_exception {
        text.push_str(&format!(" Nobody caught: {}", exception["text"].as_str().unwrap_or_default()));
    }
    if let Some(warning) = &warning {
        text.push_str(&format!(" {warning}"));
    }
    Ok(Answer::new(SdkCalled { ok, value, error, recent_exception, warning }, text))
}

fn missing_sdk(missing: &str, name: &str, known: &Value) -> Fault {
    if missing == "sdk" {
        return Fault::new(FaultCode::NotFound, "The page has no SDK (window.__sdk).")
            .because("it is no mini-app, or its SDK is not loaded yet")
            .next("list_pages", "see which page is attached");
    }
    Fault::new(FaultCode::NotFound, format!("The SDK has no function {name:?}.")).with(json!({ "known": known }))
}
