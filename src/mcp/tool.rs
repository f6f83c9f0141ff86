//! What a tool is: its definition for `tools/list`, and what it does.

use std::future::Future;
use std::sync::Arc;

use rmcp::model::{CallToolResult, JsonObject, ToolAnnotations};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use schemars::transform::{RecursiveTransform, Transform};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::call::Call;
use super::envelope::{Answered, Envelope, Fault, seal};
use crate::cdp::page::BoxFuture;

/// What a model is told of a tool.
#[derive(Clone, Copy, Debug)]
pub(super) struct About {
    /// Its name.
    pub(super) name: &'static str,
    /// For a person.
    pub(super) title: &'static str,
    /// What it does and when to use it.
    pub(super) description: &'static str,
    /// What it does to the world.
    pub(super) effect: Effect,
}

/// What a tool does to the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// It only looks.
    Reads,
    /// It starts or changes something that can be had again.
    Changes,
    /// It runs code in the page, or leaves it: what was there may be lost.
    Destroys,
}

type Act = dyn Fn(Call, JsonObject) -> BoxFuture<'static, CallToolResult> + Send + Sync;

/// A tool.
#[derive(Clone)]
pub(super) struct Tool {
    /// As `tools/list` shows it.
    pub(super) definition: rmcp::model::Tool,
    /// Its name.
    pub(super) name: &'static str,
    /// Only one call of such tools is worked on at a time.
    pub(super) alone: bool,
    act: Arc<Act>,
}

impl Tool {
    /// A tool that reads `A` and answers with `T`. Arguments that are not in the schema of `A` are refused.
    pub(super) fn new<A, T, F, W>(about: About, act: F) -> Self
    where
        A: DeserializeOwned + JsonSchema + Send + 'static,
        T: Serialize + JsonSchema + Send + 'static,
        F: Fn(Call, A) -> W + Send + Sync + Clone + 'static,
        W: Future<Output = Answered<T>> + Send + 'static,
    {
        let input = schema::<A>(false);
        let definition = rmcp::model::Tool::new(about.name, about.description, Arc::clone(&input))
            .with_title(about.title)
            .with_raw_output_schema(schema::<Envelope<T>>(true))
            .with_annotations(about.effect.annotations(about.title));
        let act = move |call: Call, arguments: JsonObject| -> BoxFuture<'static, CallToolResult> {
            let (act, input) = (act.clone(), Arc::clone(&input));
            Box::pin(async move {
                let meta = call.meta(about.name);
                let answered = match read(&input, arguments) {
                    Ok(arguments) => act(call, arguments).await,
                    Err(fault) => Err(fault),
                };
                seal(answered, meta)
            })
        };
        Self { definition, name: about.name, alone: false, act: Arc::new(act) }
    }

    /// It changes the session or runs tests, which happens one at a time, in the order in which the calls come.
    pub(super) fn alone(mut self) -> Self {
        self.alone = true;
        self
    }

    /// Does it.
    pub(super) async fn call(&self, call: Call, arguments: JsonObject) -> CallToolResult {
        (self.act)(call, arguments).await
    }
}

impl Effect {
    fn annotations(self, title: &str) -> ToolAnnotations {
        // The page is what the person chose; nothing beyond it is reached.
        let hints = ToolAnnotations::with_title(title).open_world(false);
        match self {
            Self::Reads => hints.read_only(true).destructive(false).idempotent(true),
            Self::Changes => hints.read_only(false).destructive(false).idempotent(false),
            Self::Destroys => hints.read_only(false).destructive(true).idempotent(false),
        }
    }
}

/// Arguments as their type. A name that is not known is more likely a slip than something that may be ignored.
fn read<A: DeserializeOwned>(schema: &JsonObject, arguments: JsonObject) -> Result<A, Fault> {
    let known: Vec<&str> = match schema.get("properties") {
        Some(Value::Object(properties)) => properties.keys().map(String::as_str).collect(),
        _ => Vec::new(),
    };
    if let Some(unknown) = arguments.keys().find(|name| !known.contains(&name.as_str())) {
        let known = if known.is_empty() { "it takes none".into() } else { format!("it takes {}", known.join(", ")) };
        return Err(Fault::bad_input(format!("There is no argument {unknown:?}; {known}.")));
    }
    serde_json::from_value(Value::Object(arguments)).map_err(|error| {
        Fault::bad_input(format!("The arguments cannot be read: {error}."))
            .because("they do not fit the input schema of the tool")
    })
}

/// The schema of a type: without `$ref`, which some clients do not follow, and without what only documents Rust.
fn schema<T: JsonSchema>(output: bool) -> Arc<JsonObject> {
    let mut settings = SchemaSettings::draft2020_12();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    if output {
        settings = settings.for_serialize();
    }
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    schema.remove("title");
    RecursiveTransform(move |schema: &mut schemars::Schema| {
        schema.remove("format");
        if output {
            // Whoever reads an answer has it before him; every word here is read anew in each conversation.
            schema.remove("description");
        }
        shorten_choice(schema, output);
    })
    .transform(&mut schema);
    let Value::Object(mut object) = schema.to_value() else { return Arc::default() };
    object.entry("type").or_insert_with(|| "object".into());
    Arc::new(object)
}

/// A choice of texts that are not described one by one needs no schema for each.
fn shorten_choice(schema: &mut schemars::Schema, undescribed: bool) {
    let Some(Value::Array(choices)) = schema.get("oneOf") else { return };
    let text = |choice: &Value| {
        let fields = choice.as_object()?;
        let only = |key: &String| key == "const" || key == "type" || undescribed && key == "description";
        fields.get("const").filter(|text| text.is_string() && fields.keys().all(only)).cloned()
    };
    if let Some(texts) = choices.iter().map(text).collect::<Option<Vec<_>>>() {
        schema.remove("oneOf");
        schema.insert("type".into(), "string".into());
        schema.insert("enum".into(), Value::Array(texts));
    }
}
