//! The scripts that run inside a page, built by `build.rs` from `test-runner/src/<name>/index.ts`.

use crate::wire::CaptureOptions;

/// The test runtime: installs the global [`crate::wire::RUNTIME_GLOBAL`], once per document.
pub const RUNTIME: &str = include_str!(concat!(env!("OUT_DIR"), "/runtime.js"));

/// The recorder of what the page exchanges: installs itself when it is evaluated, once per document. It ends with
/// `({});` before its `sourceURL`; options (`InstallOptions` of `engine/install.ts`) may take the place of the `{}`.
pub const INTERCEPTORS: &str = include_str!(concat!(env!("OUT_DIR"), "/interceptors.js"));

/// The agent: a small CDP endpoint that the relay serves as `target.js`.
pub const AGENT: &str = include_str!(concat!(env!("OUT_DIR"), "/agent.js"));

/// The dashboard's page, for the element `ait-dashboard`.
pub const DASHBOARD: &str = include_str!(concat!(env!("OUT_DIR"), "/dashboard.js"));

/// An expression that gives functions by which tools evaluate: `describe(value)` and `callSdk(name, args)`.
pub const EVALUATE: &str = include_str!(concat!(env!("OUT_DIR"), "/evaluate.js"));

/// An expression that gives functions by which tools look at a page: `outline`, `snapshot`, `safeArea`, `elementOf`.
pub const INSPECT: &str = include_str!(concat!(env!("OUT_DIR"), "/inspect.js"));

/// Leads connections of the page to a recording that is played; where it is told comes in the place of the `("")` at its
/// end.
pub const REPLAY: &str = include_str!(concat!(env!("OUT_DIR"), "/replay.js"));

/// Where [`REPLAY`] takes the place.
const NO_PLACE: &str = "(\"\");";

/// The script that leads connections to a replay server, told as `host:port/path`.
pub fn replay_at(place: &str) -> String {
    let place = serde_json::to_string(place).unwrap_or_default();
    match REPLAY.rsplit_once(NO_PLACE) {
        Some((script, name)) => format!("if (self === self.top) {script}({place});{name}"),
        None => REPLAY.to_owned(),
    }
}

/// Where [`INTERCEPTORS`] take their options.
const NO_OPTIONS: &str = "({});";

/// The recorder with its options, as one script.
pub fn recorder(options: &CaptureOptions) -> String {
    let options = serde_json::to_string(options).unwrap_or_default();
    match INTERCEPTORS.rsplit_once(NO_OPTIONS) {
        Some((script, name)) => format!("{script}({options});{name}"),
        None => INTERCEPTORS.to_owned(),
    }
}

/// The same for new documents of a Chrome, which runs it in every frame of a page: only the page itself is led by us. In a
/// document without scripts it runs late, when somebody first looks; nothing was missed then.
pub fn recorder_of_pages(options: &CaptureOptions) -> String {
    format!("if (self === self.top) {}", recorder(&options.first()))
}

/// What the relay hands out: the recorder first where there is one, since the agent must find its natives.
pub fn agent(recorder: Option<&CaptureOptions>) -> String {
    recorder.map_or_else(String::new, self::recorder) + AGENT
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::CaptureKind;

    #[test]
    fn the_recorder_takes_its_options() {
        assert_eq!(INTERCEPTORS.matches(NO_OPTIONS).count(), 1);
        let options = CaptureOptions::new(vec![CaptureKind::Fetch], 10);
        let expected = r#"({"forward":true,"capture":["fetch"],"maxPayload":10});"#;
        assert!(recorder(&options).contains(expected));
    }
}
