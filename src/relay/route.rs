//! From a request's path to what is asked for. One parse decides both what is served and what the gate checks, so
//! that the two can never disagree about a path.

use percent_encoding::percent_decode_str;

use super::registry::TargetId;
use crate::secret::Hidden;

/// Longest path that is looked at; real ones are under 100 bytes.
const MAX_PATH: usize = 1024;

/// Digits in the name of a script, which is a ticket.
const SCRIPT_NAME: usize = 32;

/// What a call on the public listener asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Route {
    /// `target.js`: the agent.
    Agent,
    /// `target/<id>`: the agent's socket.
    Target(TargetId),
    /// `ait-attach`: apps in the field report their version.
    Handshake,
    /// `attach`: the hosted page.
    AttachPage,
    /// `bundle/<name>.js`: a script for a page that may not `eval`.
    Script(Hidden),
    /// `echo/<path>`: whether this is the relay that made the path.
    Echo(Hidden),
}

/// A call that the listener knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    /// What is asked for.
    pub(super) route: Route,
    /// The code in front of it (`/at/<code>/...`), as it was sent.
    pub(super) code: Option<Hidden>,
}

/// Reads a path as it stood in the request line. Percent escapes, letter case of the fixed words, empty segments, `.`
/// and `..`, and a slash at the end make no difference. `None` for everything that is not served.
pub(super) fn parse(path: &str) -> Option<Call> {
    if path.len() > MAX_PATH {
        return None;
    }
    let decoded = percent_decode_str(path).decode_utf8().ok()?;
    let segments = segments(&decoded);
    let (code, rest) = match segments.as_slice() {
        [at, code, rest @ ..] if at.eq_ignore_ascii_case("at") => (Some(Hidden::new(*code)), rest),
        rest => (None, rest),
    };
    let route = match rest {
        [name] if name.eq_ignore_ascii_case("target.js") => Route::Agent,
        [name] if name.eq_ignore_ascii_case("ait-attach") => Route::Handshake,
        [name] if name.eq_ignore_ascii_case("attach") => Route::AttachPage,
        [name, file] if name.eq_ignore_ascii_case("bundle") => Route::Script(script_name(file)?),
        [name, path] if name.eq_ignore_ascii_case("echo") => Route::Echo(Hidden::new(*path)),
        [name, id] if name.eq_ignore_ascii_case("target") => Route::Target(TargetId::new(id)?),
        _ => return None,
    };
    Some(Call { route, code })
}

/// Nothing that an app would call a file of its own.
fn script_name(file: &str) -> Option<Hidden> {
    let name = file.strip_suffix(".js")?;
    (name.len() == SCRIPT_NAME && name.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| Hidden::new(name))
}

/// Whether a path belongs to the relay even where an app is served behind it: everything that is served here, and
/// everything that carries a code in front.
pub(super) fn is_reserved(path: &str) -> bool {
    let decoded = percent_decode_str(path).decode_utf8_lossy();
    segments(&decoded).first().is_some_and(|first| first.eq_ignore_ascii_case("at")) || parse(path).is_some()
}

fn segments(decoded: &str) -> Vec<&str> {
    let mut segments = Vec::new();
    for segment in decoded.split('/') {
        match segment {
            "" | "." => {}
            ".." => {
                segments.pop();
            }
            other => segments.push(other),
        }
    }
    segments
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;

    use super::*;

    fn call(route: Route, code: Option<&str>) -> Option<Call> {
        Some(Call { route, code: code.map(Hidden::new) })
    }

    #[test]
    fn every_spelling_of_a_path_is_the_same_call() {
        let id = TargetId::new("aB-_9z").unwrap();
        for path in ["/at/123456/target/aB-_9z", "//AT//123456/Target/aB-_9z/", "/%61t/123456/./target/x/../aB%2D_9z"] {
            assert_eq!(parse(path), call(Route::Target(id.clone()), Some("123456")), "{path}");
        }
        for path in
            ["/target.js", "/TARGET.JS", "/target%2ejs", "//target.js/", "/at/../target.js", "/at/1/../../target.js"]
        {
            assert_eq!(parse(path), call(Route::Agent, None), "{path}");
        }
        assert_eq!(parse("/at/1/attach"), call(Route::AttachPage, Some("1")));
        assert_eq!(parse("/echo/x"), call(Route::Echo(Hidden::new("x")), None));
        assert_eq!(parse("/ait-attach"), call(Route::Handshake, None));
        let name = "0123456789abcdef".repeat(2);
        assert_eq!(parse(&format!("/bundle/{name}.js")), call(Route::Script(Hidden::new(name)), None));
    }

    #[test]
    fn everything_else_is_nothing() {
        let long = format!("/target/{}", "a".repeat(2000));
        for path in [
            "/",
            "",
            "/at",
            "/at/123456",
            "/at//target.js",
            "/targets",
            "/proxy",
            "/client/x",
            "/target",
            "/target/a/b",
            "/echo",
            "/echo/a/b",
            "/target/a%2Fb",
            "/target/a%00",
            "/target/%ff",
            "/attach/x",
            "/bundle",
            "/bundle/app.js",
            "/bundle/0123456789abcdef0123456789abcdef",
            "/bundle/0123456789abcdef0123456789abcdeg.js",
            "/x/target.js",
            "*",
            &long,
        ] {
            assert_eq!(parse(path), None, "{path}");
        }
    }

    #[test]
    fn an_app_behind_it_has_every_other_path() {
        for path in ["/at", "/AT/123456/x", "//%61t/", "/x/../at/1", "/target.js", "/Attach", "/echo/x"] {
            assert!(is_reserved(path), "{path}");
        }
        let long = format!("/at/{}", "a".repeat(2000));
        assert!(is_reserved(&long));
        for path in ["/", "/a/at", "/attach/x", "/targets", "/%ff", "/bundle/app.js", "/atlas", "/@vite/client"] {
            assert!(!is_reserved(path), "{path}");
        }
    }

    proptest! {
        #[test]
        fn no_path_is_a_surprise(path in "[/%.a-zA-Z0-9_\\-]{0,40}|\\PC{0,20}") {
            if let Some(Call { route: Route::Target(id), .. }) = parse(&path) {
                prop_assert!(TargetId::new(id.as_str()).is_some());
            }
        }

        #[test]
        fn a_code_in_front_is_never_lost(code in "[0-9a-z]{1,8}", name in "(target\\.js|ait-attach|attach|target/x1)") {
            let parsed = parse(&format!("/at/{code}/{name}")).unwrap();
            prop_assert_eq!(parsed.code, Some(Hidden::new(code)));
        }
    }
}
