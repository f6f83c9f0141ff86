//! Content security policies (CSP level 3), widened by what the agent needs and nothing else: its script, its socket, and
//! the `eval` by which tests run.

/// What the agent needs in one page.
#[derive(Clone, Debug)]
pub(super) struct Needs {
    /// The nonce its script carries.
    pub(super) nonce: String,
    /// Where its script is, `https://host/target.js`.
    pub(super) scripts: Vec<String>,
    /// Where its socket leads, `wss://host/target/`, and what stands in for it where the network lets none through,
    /// `https://host/target/`.
    pub(super) sockets: Vec<String>,
    /// The page came over TLS.
    pub(super) tls: bool,
}

/// A directive: its name in small letters and its values.
struct Directive<'a> {
    name: String,
    values: Vec<&'a str>,
}

/// The policies of a header, which are separated by commas.
pub(super) fn widen_all(policies: &str, needs: &Needs) -> String {
    policies
        .split(',')
        .map(|policy| widen(policy, needs))
        .filter(|policy| !policy.is_empty())
        .collect::<Vec<_>>()
        .join(", ")
}

/// One policy. Empty when nothing is left of it.
pub(super) fn widen(policy: &str, needs: &Needs) -> String {
    let mut directives: Vec<Directive<'_>> = Vec::new();
    for text in policy.split(';') {
        let mut words = text.split_ascii_whitespace();
        let Some(name) = words.next().map(str::to_ascii_lowercase) else { continue };
        // Only the first of a name counts.
        if directives.iter().all(|known| known.name != name) {
            directives.push(Directive { name, values: words.collect() });
        }
    }
    let nonce = format!("'nonce-{}'", needs.nonce);
    if let Some(values) = governing(&mut directives, "script-src") {
        allow(values, "'unsafe-eval'");
    }
    let of_tags = if find(&mut directives, "script-src-elem").is_some() { "script-src-elem" } else { "script-src" };
    if let Some(values) = find(&mut directives, of_tags) {
        if allows_all_inline(values) {
            // A nonce would put an end to 'unsafe-inline'. In WebKit tests run from `blob:` addresses.
            needs.scripts.iter().for_each(|script| allow(values, script));
            allow(values, "blob:");
        } else {
            allow(values, &nonce);
        }
    }
    if let Some(values) = governing(&mut directives, "connect-src") {
        needs.sockets.iter().for_each(|socket| allow(values, socket));
    }
    if let Some(values) = find(&mut directives, "sandbox") {
        // Without the first no script runs, without the second the page is nobody's and has no cookie.
        allow(values, "allow-scripts");
        allow(values, "allow-same-origin");
    }
    directives.retain(|directive| match directive.name.as_str() {
        // Tests are sent as text and evaluated. The agent has a policy of its own for that, but what it tries before it
        // takes that one would be told to the app as a violation.
        "require-trusted-types-for" => false,
        // Meant for a server with TLS; here it would keep everything from loading, the agent included.
        "upgrade-insecure-requests" => needs.tls,
        _ => true,
    });
    let written = directives.iter().map(|Directive { name, values }| {
        std::iter::once(name.as_str()).chain(values.iter().copied()).collect::<Vec<_>>().join(" ")
    });
    written.collect::<Vec<_>>().join("; ")
}

fn find<'d, 'a>(directives: &'d mut [Directive<'a>], name: &str) -> Option<&'d mut Vec<&'a str>> {
    directives.iter_mut().find(|directive| directive.name == name).map(|directive| &mut directive.values)
}

/// The values that govern `name`: its own, else those of `default-src`, which it gets a copy of.
fn governing<'d, 'a>(directives: &'d mut Vec<Directive<'a>>, name: &str) -> Option<&'d mut Vec<&'a str>> {
    if find(directives, name).is_none() {
        let values = find(directives, "default-src")?.clone();
        directives.push(Directive { name: name.to_owned(), values });
    }
    find(directives, name)
}

fn allow<'a>(values: &mut Vec<&'a str>, source: &'a str) {
    values.retain(|value| !value.eq_ignore_ascii_case("'none'"));
    if values.iter().all(|value| !value.eq_ignore_ascii_case(source)) {
        values.push(source);
    }
}

fn allows_all_inline(values: &[&str]) -> bool {
    let lower: Vec<String> = values.iter().map(|value| value.to_ascii_lowercase()).collect();
    let overrides =
        |value: &String| ["'nonce-", "'sha", "'strict-dynamic'"].iter().any(|start| value.starts_with(start));
    lower.iter().any(|value| value == "'unsafe-inline'") && !lower.iter().any(overrides)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn needs(tls: bool) -> Needs {
        let (scripts, sockets) = (vec!["https://r.test/target.js".into()], vec!["wss://r.test/target/".into()]);
        Needs { nonce: "N".into(), scripts, sockets, tls }
    }

    fn widened(policy: &str) -> String {
        widen_all(policy, &needs(true))
    }

    #[test]
    fn what_forbids_is_widened_and_what_allows_is_left() {
        for (policy, expected) in [
            ("", ""),
            ("img-src 'self'; frame-ancestors 'none'", "img-src 'self'; frame-ancestors 'none'"),
            ("script-src 'self'", "script-src 'self' 'unsafe-eval' 'nonce-N'"),
            ("script-src 'none'", "script-src 'unsafe-eval' 'nonce-N'"),
            ("Script-Src 'nonce-x' 'strict-dynamic'", "script-src 'nonce-x' 'strict-dynamic' 'unsafe-eval' 'nonce-N'"),
            ("script-src 'sha256-x='", "script-src 'sha256-x=' 'unsafe-eval' 'nonce-N'"),
            (
                "script-src 'unsafe-inline' 'unsafe-eval'",
                "script-src 'unsafe-inline' 'unsafe-eval' https://r.test/target.js blob:",
            ),
            ("script-src 'unsafe-inline' 'nonce-x'", "script-src 'unsafe-inline' 'nonce-x' 'unsafe-eval' 'nonce-N'"),
            ("connect-src 'self' ", "connect-src 'self' wss://r.test/target/"),
            (
                "default-src 'none'; img-src *",
                "default-src 'none'; img-src *; script-src 'unsafe-eval' 'nonce-N'; connect-src wss://r.test/target/",
            ),
            (
                "script-src-elem 'self'; default-src a.test",
                "script-src-elem 'self' 'nonce-N'; default-src a.test; script-src a.test 'unsafe-eval'; connect-src \
                 a.test wss://r.test/target/",
            ),
            ("script-src-elem 'self'", "script-src-elem 'self' 'nonce-N'"),
            ("script-src a; script-src b", "script-src a 'unsafe-eval' 'nonce-N'"),
            ("sandbox allow-forms", "sandbox allow-forms allow-scripts allow-same-origin"),
            ("require-trusted-types-for 'script'; trusted-types x", "trusted-types x"),
            ("img-src a, script-src b", "img-src a, script-src b 'unsafe-eval' 'nonce-N'"),
            ("upgrade-insecure-requests", "upgrade-insecure-requests"),
        ] {
            assert_eq!(widened(policy), expected, "{policy}");
        }
        assert_eq!(widen_all("upgrade-insecure-requests; img-src *", &needs(false)), "img-src *");
    }

    proptest! {
        #[test]
        fn widening_twice_is_widening_once(policy in "(([a-z'*;, -]|script-src|default-src|connect-src|'none'){0,12})") {
            let once = widened(&policy);
            prop_assert_eq!(widened(&once), once);
        }
    }
}
