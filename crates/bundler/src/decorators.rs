//! TC39 decorators: the bundler lowers only TypeScript's older ones and leaves these in place, a syntax error in every
//! browser.

use oxc::allocator::Allocator;
use oxc::ast::ast::Decorator;
use oxc::ast_visit::Visit;
use oxc::parser::Parser;
use oxc::span::SourceType;

/// The 0-based line and UTF-16 column of the first decorator left in a chunk.
pub(crate) fn first_left(chunk: &str) -> Option<(u32, u32)> {
    if !may_hold_decorator(chunk.as_bytes()) {
        return None;
    }
    let allocator = Allocator::default();
    let parsed = Parser::new(&allocator, chunk, SourceType::mjs()).parse();
    let mut finder = Finder { first: None };
    finder.visit_program(&parsed.program);
    let before = chunk.get(..finder.first? as usize)?;
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = before.bytes().filter(|byte| *byte == b'\n').count();
    let column = before[line_start..].encode_utf16().count();
    Some((u32::try_from(line).ok()?, u32::try_from(column).ok()?))
}

/// Cheap and never wrong when it says no: a decorator is an `@` after white space or an opening bracket.
fn may_hold_decorator(chunk: &[u8]) -> bool {
    chunk.iter().enumerate().any(|(at, byte)| {
        *byte == b'@'
            && at.checked_sub(1).is_none_or(|before| {
                matches!(chunk[before], b' ' | b'\t' | b'\n' | b'(' | b'{' | b';' | b'=' | b',' | b')')
            })
    })
}

struct Finder {
    first: Option<u32>,
}

impl<'a> Visit<'a> for Finder {
    fn visit_decorator(&mut self, decorator: &Decorator<'a>) {
        self.first = Some(self.first.map_or(decorator.span.start, |first| first.min(decorator.span.start)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decorators_are_told_from_other_signs() {
        assert_eq!(first_left("let a = 'x @y z';\nlet b = `\n@c`;"), None);
        assert_eq!(first_left("// nothing"), None);
        assert_eq!(first_left("var A = class {\n\t@log m() {}\n};"), Some((1, 1)));
        assert_eq!(first_left("/* 한 */ @log\nclass A {}"), Some((0, 8)));
        assert_eq!(first_left("var A = @(x.y()) class {};"), Some((0, 8)));
    }
}
