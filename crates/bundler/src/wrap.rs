//! From a chunk to the text of a function, line by line: the source map must hold.

/// Puts the chunk into an async function, with exactly one line before it.
pub(crate) fn wrap(chunk: &str) -> String {
    format!("async () => {{ \"use strict\";\n{}\n}}", own_names(chunk.trim_end()))
}

/// The bundler restores the name of a class it had to rename from a static block, after the code was lowered. Safari
/// knows such blocks from 16.4 only, and the helper that it calls is missing where a class is turned into text and
/// evaluated elsewhere. A static field does the same by itself.
fn own_names(chunk: &str) -> String {
    let mut lines: Vec<_> = chunk.split('\n').map(String::from).collect();
    for at in 2..lines.len() {
        let (open, close) = (lines[at - 2].trim(), lines[at].trim());
        if open == "static {"
            && close == "}"
            && let Some(name) = name_restored(lines[at - 1].trim())
        {
            lines[at - 1] = format!("Object.defineProperty(this, \"name\", {{ value: {name}, configurable: true }})");
            lines[at - 2] = "static #ait_name =".into();
            lines[at] = ";".into();
        }
    }
    lines.join("\n")
}

/// `__name(this, "Thing");` -> `"Thing"`.
fn name_restored(line: &str) -> Option<&str> {
    let (helper, name) = line.strip_suffix(");")?.split_once("(this, ")?;
    let known = helper == "__name" || helper.starts_with("__name$");
    (known && name.starts_with('"') && name.ends_with('"')).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_comes_before_the_chunk() {
        assert_eq!(wrap("a();\nb();\n"), "async () => { \"use strict\";\na();\nb();\n}");
        assert_eq!(wrap(""), "async () => { \"use strict\";\n\n}");
    }

    #[test]
    fn classes_restore_their_names_themselves() {
        let chunk = "var A$1 = class {\n\tstatic {\n\t\t__name(this, \"A\");\n\t}\n\tm() {}\n};";
        let expected = "var A$1 = class {\nstatic #ait_name =\nObject.defineProperty(this, \"name\", { value: \"A\", configurable: true })\n;\n\tm() {}\n};";
        assert_eq!(own_names(chunk), expected);
        let other = "class A {\n\tstatic {\n\t\tsetUp(this, \"A\");\n\t}\n}";
        assert_eq!(own_names(other), other);
    }
}
