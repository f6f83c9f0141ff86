//! What was meant for `eval` as a script: an element runs it, and an element has no value and throws to nobody.

use oxc::allocator::Allocator;
use oxc::ast::ast::{Program, Statement, VariableDeclarationKind};
use oxc::parser::Parser;
use oxc::span::{GetSpan, SourceType, Span};

/// A script, and what was put into the source to make it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Script {
    /// What an element runs.
    pub text: String,
    /// From the first to the last: line, column and length, the way engines count them in the script (lines and columns
    /// from 0, in UTF-16 code units). None of them moves a line.
    pub inserted: Vec<[usize; 3]>,
}

/// The source as a script that calls `<hook>.value(x)` with what `eval` would give, and `<hook>.thrown(e)` with what it
/// would throw. `hook` is a global name.
///
/// As with `eval`, what it declares with `let`, `const` and `class` stays inside. The value is that of the last statement
/// that is an expression, where none but declarations follow. What does not parse is given back as it is, for the engine
/// to say what is wrong. A script whose functions may not stand in a block is not caught: its errors are the window's.
#[must_use]
pub fn as_script(source: &str, hook: &str) -> Script {
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, source, SourceType::script()).parse();
    if parsed.panicked || !parsed.diagnostics.is_empty() {
        return Script { text: source.to_owned(), inserted: Vec::new() };
    }
    let program = &parsed.program;
    let (before, behind) = around(program, hook);
    let mut script = Script::default();
    script.insert(before);
    match value_of(program) {
        Some(Span { start, end, .. }) => {
            let (start, end) = (start as usize, end as usize);
            script.text.push_str(&source[..start]);
            script.insert(&format!("{hook}.value(("));
            script.text.push_str(&source[start..end]);
            script.insert("))");
            script.text.push_str(&source[end..]);
        }
        None => script.text.push_str(source),
    }
    script.text.push_str(&behind);
    script
}

impl Script {
    fn insert(&mut self, text: &str) {
        let line_start = self.text.rfind('\n').map_or(0, |at| at + 1);
        let line = self.text.bytes().filter(|&byte| byte == b'\n').count();
        if !text.is_empty() {
            self.inserted.push([line, self.text[line_start..].encode_utf16().count(), text.len()]);
        }
        self.text.push_str(text);
    }
}

/// What stands before and behind the program.
fn around(program: &Program<'_>, hook: &str) -> (&'static str, String) {
    let is_strict = program.directives.iter().any(|directive| directive.directive == "use strict");
    let declares = program.body.iter().any(is_lexical);
    let has_functions = program.body.iter().any(|statement| matches!(statement, Statement::FunctionDeclaration(_)));
    let catch = format!("}}catch(e){{{hook}.thrown(e)}}");
    if is_strict && !program.body.is_empty() {
        ("try{(()=>{", format!("\n}})()\n{catch}"))
    } else if declares || !has_functions {
        ("try{", format!("\n{catch}"))
    } else {
        // In a block a function may not have the name of a `var`.
        ("", String::new())
    }
}

fn is_lexical(statement: &Statement<'_>) -> bool {
    match statement {
        Statement::ClassDeclaration(_) => true,
        Statement::VariableDeclaration(declaration) => declaration.kind != VariableDeclarationKind::Var,
        _ => false,
    }
}

/// Where the expression stands whose value is the program's (ECMA-262, 14.2.2: declarations have none).
fn value_of(program: &Program<'_>) -> Option<Span> {
    for statement in program.body.iter().rev() {
        match statement {
            Statement::ExpressionStatement(statement) => return Some(statement.expression.span()),
            Statement::EmptyStatement(_)
            | Statement::FunctionDeclaration(_)
            | Statement::ClassDeclaration(_)
            | Statement::VariableDeclaration(_) => {}
            _ => return None,
        }
    }
    program.directives.last().map(|directive| directive.expression.span)
}

#[cfg(test)]
mod tests {
    use super::{Script, as_script};

    #[test]
    fn the_value_and_what_is_thrown_are_handed_over() {
        for (source, script) in [
            ("1 + 1", "try{H.value((1 + 1))\n}catch(e){H.thrown(e)}"),
            ("a(), b() // why", "try{H.value((a(), b())) // why\n}catch(e){H.thrown(e)}"),
            ("const a = 1; a;", "try{const a = 1; H.value((a));\n}catch(e){H.thrown(e)}"),
            ("5; var b = 2;;", "try{H.value((5)); var b = 2;;\n}catch(e){H.thrown(e)}"),
            ("'text'", "try{H.value(('text'))\n}catch(e){H.thrown(e)}"),
            ("throw 1", "try{throw 1\n}catch(e){H.thrown(e)}"),
            ("1; if (a) b()", "try{1; if (a) b()\n}catch(e){H.thrown(e)}"),
            ("'use strict'; f(this)", "try{(()=>{'use strict'; H.value((f(this)))\n})()\n}catch(e){H.thrown(e)}"),
            (
                "(async () => {})\n//# sourceURL=x",
                "try{H.value(((async () => {})))\n//# sourceURL=x\n}catch(e){H.thrown(e)}",
            ),
            ("", "try{\n}catch(e){H.thrown(e)}"),
        ] {
            assert_eq!(as_script(source, "H").text, script);
        }
    }

    #[test]
    fn a_block_is_no_place_for_functions() {
        assert_eq!(as_script("var a; function a() {} a", "H").text, "var a; function a() {} H.value((a))");
        assert_eq!(as_script("let a; function b() {}", "H").text, "try{let a; function b() {}\n}catch(e){H.thrown(e)}");
    }

    #[test]
    fn the_engine_says_what_is_wrong() {
        for source in ["(", "1 +", "}{", "let a; let", "\u{0}"] {
            assert_eq!(as_script(source, "H"), Script { text: source.into(), inserted: Vec::new() });
        }
    }

    #[test]
    fn what_was_put_in_is_told_and_moves_no_line() {
        for (source, inserted) in [
            ("1", vec![[0, 0, 4], [0, 4, 9], [0, 14, 2]]),
            ("let a = '😀'; a\n  .b", vec![[0, 0, 4], [0, 18, 9], [1, 4, 2]]),
            ("if (a) b", vec![[0, 0, 4]]),
            ("(", vec![]),
        ] {
            let script = as_script(source, "H");
            assert_eq!(script.inserted, inserted, "{source}");
            assert!(script.text.lines().count() >= source.lines().count());
        }
    }
}
