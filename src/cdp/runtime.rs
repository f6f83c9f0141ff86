//! The `Runtime` domain, as far as we use it. Every field may be missing: the other end may be a Chrome, our agent or a
//! stock chobitsu.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::lenient::or_default;
use super::remote_object::RemoteObject;
use super::{CdpError, Session};
use crate::wire::{ErrorKind, PageError, PageFrame};

/// How `Runtime.evaluate` is to be done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct EvaluateOptions {
    /// Wait for the promise the expression gives.
    pub await_promise: bool,
    /// Send the value itself, as JSON.
    pub return_by_value: bool,
    /// Count as a gesture of the user.
    pub user_gesture: bool,
}

/// Why an evaluate gave no value.
#[derive(Debug, thiserror::Error)]
pub enum EvaluateError {
    /// The expression threw, could not be parsed, or its promise was rejected.
    #[error("{0}")]
    Exception(Box<ExceptionDetails>),
    /// The call itself failed.
    #[error(transparent)]
    Cdp(#[from] CdpError),
}

/// `Runtime.evaluate`. Without `return_by_value` primitives still come by value, everything else as `null`.
///
/// # Errors
/// See [`EvaluateError`].
pub async fn evaluate(
    session: &Session,
    expression: &str,
    options: EvaluateOptions,
    within: Duration,
) -> Result<Value, EvaluateError> {
    let object = evaluate_object(session, expression, options, within).await?;
    Ok(object.value.unwrap_or_default())
}

/// `Runtime.evaluate`, with all that is told of the value.
///
/// # Errors
/// See [`EvaluateError`].
pub async fn evaluate_object(
    session: &Session,
    expression: &str,
    options: EvaluateOptions,
    within: Duration,
) -> Result<RemoteObject, EvaluateError> {
    #[derive(Serialize)]
    struct Params<'a> {
        expression: &'a str,
        #[serde(flatten)]
        options: EvaluateOptions,
    }
    session.call::<Evaluated>("Runtime.evaluate", Params { expression, options }, within).await?.outcome()
}

/// `Runtime.callFunctionOn`: calls a function of the page's language with a value of the page as `this`.
///
/// # Errors
/// See [`EvaluateError`].
pub async fn call_function_on(
    session: &Session,
    object_id: &str,
    function: &str,
    options: EvaluateOptions,
    within: Duration,
) -> Result<RemoteObject, EvaluateError> {
    #[derive(Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Params<'a> {
        object_id: &'a str,
        function_declaration: &'a str,
        #[serde(flatten)]
        options: EvaluateOptions,
    }
    let params = Params { object_id, function_declaration: function, options };
    session.call::<Evaluated>("Runtime.callFunctionOn", params, within).await?.outcome()
}

/// What both answer with.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Evaluated {
    #[serde(default, deserialize_with = "or_default")]
    result: RemoteObject,
    #[serde(default)]
    exception_details: Option<Box<ExceptionDetails>>,
}

impl Evaluated {
    fn outcome(self) -> Result<RemoteObject, EvaluateError> {
        match self.exception_details {
            Some(details) => Err(EvaluateError::Exception(details)),
            None => Ok(self.result),
        }
    }
}

/// So many frames are kept of the stacks of errors and console calls while somebody listens to [`Session::events`]; V8
/// keeps 200 ([`ALL_FRAMES`]) unless told. What a script itself reads of a stack is not meant. Other engines do without.
pub async fn keep_frames(session: &Session, frames: u32, within: Duration) {
    let params = json!({ "size": frames });
    // Only costs time where it is refused.
    drop(session.call::<Value>("Runtime.setMaxCallStackSizeToCapture", params, within).await);
}

/// As V8 does it by itself.
pub const ALL_FRAMES: u32 = 200;

/// `Runtime.addBinding`: `globalThis[name](text)` becomes `Runtime.bindingCalled`. Adding it again changes nothing.
///
/// # Errors
/// See [`CdpError`].
pub async fn add_binding(session: &Session, name: &str, within: Duration) -> Result<(), CdpError> {
    session.call::<Value>("Runtime.addBinding", json!({ "name": name }), within).await.map(drop)
}

/// Event `Runtime.bindingCalled`.
#[derive(Clone, Debug, Default, Deserialize)]
pub struct BindingCalled {
    /// Name of the binding.
    #[serde(default, deserialize_with = "or_default")]
    pub name: String,
    /// The text it was called with.
    #[serde(default, deserialize_with = "or_default")]
    pub payload: String,
}

/// Event `Runtime.consoleAPICalled`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ConsoleApiCalled {
    /// `log`, `warning`, `error`, ...
    #[serde(default, rename = "type", deserialize_with = "or_default")]
    pub kind: String,
    /// The arguments.
    #[serde(default, deserialize_with = "or_default")]
    pub args: Vec<RemoteObject>,
    /// Where it was called.
    #[serde(default, deserialize_with = "or_default")]
    pub stack_trace: Option<StackTrace>,
}

impl ConsoleApiCalled {
    /// The line as a console would show it: arguments joined by a space, `%s`-like placeholders of the first filled in.
    pub fn text(&self) -> String {
        let mut args = self.args.iter();
        let mut parts = Vec::new();
        if let Some(Value::String(format)) = self.args.first().and_then(|a| a.value.as_ref())
            && format.contains('%')
            && self.args.len() > 1
        {
            args.next();
            parts.push(fill(format, &mut args));
        }
        parts.extend(args.map(RemoteObject::text));
        parts.join(" ")
    }
}

/// The console's own format language (WHATWG Console, section 2.2.1). `%c` takes its style and shows nothing.
fn fill<'a>(format: &str, args: &mut impl Iterator<Item = &'a RemoteObject>) -> String {
    let mut out = String::new();
    let mut chars = format.chars().peekable();
    while let Some(c) = chars.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        match chars.peek() {
            Some('%') => {
                chars.next();
                out.push('%');
            }
            Some(&kind @ ('s' | 'd' | 'i' | 'f' | 'o' | 'O' | 'c')) => {
                chars.next();
                match args.next() {
                    Some(_) if kind == 'c' => {}
                    Some(arg) => out.push_str(&arg.text()),
                    None => out.extend(['%', kind]),
                }
            }
            _ => out.push('%'),
        }
    }
    out
}

/// Event `Runtime.exceptionThrown`.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExceptionThrown {
    /// What was thrown.
    #[serde(default, deserialize_with = "or_default")]
    pub exception_details: ExceptionDetails,
}

/// What was thrown, and where.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ExceptionDetails {
    /// Mostly `Uncaught`.
    #[serde(default, deserialize_with = "or_default")]
    pub text: String,
    /// 0-based.
    #[serde(default, deserialize_with = "or_default")]
    pub line_number: u32,
    /// 0-based.
    #[serde(default, deserialize_with = "or_default")]
    pub column_number: u32,
    /// Script it was thrown in; for a syntax error, the script itself.
    #[serde(default, deserialize_with = "or_default")]
    pub url: String,
    /// Stack, where there is one.
    #[serde(default, deserialize_with = "or_default")]
    pub stack_trace: Option<StackTrace>,
    /// The thrown value.
    #[serde(default, deserialize_with = "or_default")]
    pub exception: Option<RemoteObject>,
}

impl std::fmt::Display for ExceptionDetails {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let thrown = self.exception.as_ref().map(RemoteObject::text).unwrap_or_default();
        let first = thrown.lines().next().unwrap_or_default();
        f.write_str(if first.is_empty() { &self.text } else { first })
    }
}

impl ExceptionDetails {
    /// The same as the page's runtime would tell it.
    pub fn to_page_error(&self) -> PageError {
        let text = self.to_string();
        let (name, message) = match text.split_once(": ") {
            Some((name, message)) if name.ends_with("Error") => (name.to_owned(), message.to_owned()),
            _ => ("Error".to_owned(), text),
        };
        let mut frames = self.stack_trace.as_ref().map(StackTrace::page_frames).unwrap_or_default();
        if frames.is_empty() && !self.url.is_empty() {
            let (line, column) = (self.line_number.saturating_add(1), self.column_number.saturating_add(1));
            frames.push(PageFrame { function: String::new(), url: self.url.clone(), line, column });
        }
        PageError { name, message, kind: ErrorKind::Error, frames, ..PageError::default() }
    }
}

/// A stack as CDP tells it.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StackTrace {
    /// Innermost first.
    #[serde(default, deserialize_with = "or_default")]
    pub call_frames: Vec<CallFrame>,
}

/// One frame.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CallFrame {
    /// Empty for anonymous functions.
    #[serde(default, deserialize_with = "or_default")]
    pub function_name: String,
    /// Script.
    #[serde(default, deserialize_with = "or_default")]
    pub url: String,
    /// 0-based.
    #[serde(default, deserialize_with = "or_default")]
    pub line_number: u32,
    /// 0-based.
    #[serde(default, deserialize_with = "or_default")]
    pub column_number: u32,
}

impl CallFrame {
    /// With 1-based positions.
    pub fn page_frame(&self) -> PageFrame {
        PageFrame {
            function: self.function_name.clone(),
            url: self.url.clone(),
            line: self.line_number.saturating_add(1),
            column: self.column_number.saturating_add(1),
        }
    }
}

impl StackTrace {
    /// The frames with 1-based positions.
    pub fn page_frames(&self) -> Vec<PageFrame> {
        self.call_frames.iter().map(CallFrame::page_frame).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn call(args: Value) -> String {
        serde_json::from_value::<ConsoleApiCalled>(json!({ "type": "log", "args": args })).unwrap().text()
    }

    #[test]
    fn console_lines_read_as_in_a_console() {
        assert_eq!(call(json!([{"type":"string","value":"a"},{"type":"number","value":1}])), "a 1");
        assert_eq!(
            call(json!([{"type":"undefined"},{"type":"object","subtype":"null","value":null}])),
            "undefined null"
        );
        assert_eq!(call(json!([{"type":"bigint","unserializableValue":"12n"}])), "12n");
        let object = json!({"type":"object","description":"Object","preview":{"overflow":true,"properties":
            [{"name":"a","type":"number","value":"1"},{"name":"b","type":"string","value":"x"}]}});
        assert_eq!(call(json!([object])), "{a: 1, b: 'x', …}");
    }

    #[test]
    fn placeholders_are_filled_in() {
        let s = |text: &str| json!({"type":"string","value":text});
        assert_eq!(
            call(json!([s("%s is %d%% %c!"), s("it"), {"type":"number","value":5}, s("color:red"), s("x")])),
            "it is 5% ! x"
        );
        assert_eq!(call(json!([s("100%")])), "100%");
        assert_eq!(call(json!([s("%s %s"), s("a")])), "a %s");
    }

    #[test]
    fn an_exception_without_positions_is_still_told() {
        let details: ExceptionDetails = serde_json::from_value(json!({
            "text":"Uncaught","exception":{"type":"object","subtype":"error","description":"TypeError: x is no y\n at z"}
        }))
        .unwrap();
        let error = details.to_page_error();
        assert_eq!((error.name.as_str(), error.message.as_str()), ("TypeError", "x is no y"));
    }
}
