//! What an import specifier stands for.

/// Modules of Node that have no file of their own.
const NODE_BUILTINS: [&str; 43] = [
    "assert",
    "async_hooks",
    "buffer",
    "child_process",
    "cluster",
    "console",
    "constants",
    "crypto",
    "dgram",
    "diagnostics_channel",
    "dns",
    "domain",
    "events",
    "fs",
    "http",
    "http2",
    "https",
    "inspector",
    "module",
    "net",
    "os",
    "path",
    "perf_hooks",
    "process",
    "punycode",
    "querystring",
    "readline",
    "repl",
    "stream",
    "string_decoder",
    "sys",
    "timers",
    "tls",
    "trace_events",
    "tty",
    "url",
    "util",
    "v8",
    "vm",
    "wasi",
    "worker_threads",
    "zlib",
    "sqlite",
];

/// Whether this names a module of Node. Without the `node:` prefix a package of the same name may exist (`buffer`).
pub(crate) fn is_node_builtin(specifier: &str) -> bool {
    specifier.starts_with("node:")
        || NODE_BUILTINS.contains(&specifier.split_once('/').map_or(specifier, |(package, _)| package))
}

/// Whether this is `package` itself or one of its sub-paths, and not a longer name that begins alike.
pub(crate) fn is_of_package(specifier: &str, package: &str) -> bool {
    specifier.strip_prefix(package).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Whether this names a package: no path, no URL, no `#import`.
pub(crate) fn is_bare(specifier: &str) -> bool {
    !specifier.starts_with(['.', '/', '#', '\0']) && !is_url(specifier)
}

/// Whether this is an address that only the page can load.
pub(crate) fn is_url(specifier: &str) -> bool {
    ["http://", "https://", "//", "data:", "blob:"].iter().any(|scheme| specifier.starts_with(scheme))
}

/// Whether this path names a style sheet.
pub(crate) fn is_style(path: &str) -> bool {
    [".css", ".scss", ".sass", ".less", ".styl", ".pcss"].iter().any(|ending| path.ends_with(ending))
}

/// Whether this style sheet is a CSS module.
pub(crate) fn is_style_module(path: &str) -> bool {
    is_style(path) && path.rsplit('/').next().is_some_and(|name| name.contains(".module."))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_match_at_their_boundary() {
        let package = "@apps-in-toss/web-framework";
        assert!(is_of_package(package, package));
        assert!(is_of_package("@apps-in-toss/web-framework/storage", package));
        assert!(!is_of_package("@apps-in-toss/web-framework-extras", package));
        assert!(!is_of_package("@apps-in-toss/web", package));
    }

    #[test]
    fn node_modules_are_known_with_and_without_prefix() {
        for yes in ["fs", "node:fs", "fs/promises", "node:test", "node:anything"] {
            assert!(is_node_builtin(yes), "{yes}");
        }
        for no in ["fsevents", "pathe", "./fs", "@node/fs"] {
            assert!(!is_node_builtin(no), "{no}");
        }
    }

    #[test]
    fn bare_names_are_told_from_paths_and_addresses() {
        for yes in ["zod", "@scope/a/b", "node:fs"] {
            assert!(is_bare(yes), "{yes}");
        }
        for no in ["./a", "../a", "/a", "#internal", "https://x.y/z.js", "data:text/javascript,1", "\0ait:entry"] {
            assert!(!is_bare(no), "{no}");
        }
    }

    #[test]
    fn css_modules_are_told_from_other_style_sheets() {
        assert!(is_style_module("/a.b/x.module.css"));
        assert!(!is_style_module("/a.module.d/x.css"));
        assert!(!is_style_module("/a/x.module.ts"));
    }
}
