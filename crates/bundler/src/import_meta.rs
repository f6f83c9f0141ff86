//! `import.meta`, which a script outside a module cannot have.

use std::path::Path;

use oxc::allocator::Allocator;
use oxc::ast::ast::{Argument, CallExpression, Expression, NewExpression, Program};
use oxc::ast::builder::AstBuilder;
use oxc::ast_visit::{VisitMut, walk_mut};
use oxc::span::Span;

use crate::specifiers::{is_bare, is_url};

/// What was found in one module.
#[derive(Default)]
pub(crate) struct Found {
    /// Calls of `import.meta.glob`.
    pub(crate) globs: Vec<Span>,
}

/// Replaces `import.meta.url` by `url`, and `new URL('./file', import.meta.url)` by a `data:` URL where that file
/// exists in `folder`. Everything else of `import.meta` is left to the bundler's defines.
pub(crate) fn rewrite<'a>(program: &mut Program<'a>, allocator: &'a Allocator, url: &str, folder: &Path) -> Found {
    let mut rewriter = Rewriter { ast: AstBuilder::new(allocator), url, folder, found: Found::default() };
    rewriter.visit_program(program);
    rewriter.found
}

struct Rewriter<'a, 'b> {
    ast: AstBuilder<'a>,
    url: &'b str,
    folder: &'b Path,
    found: Found,
}

impl<'a> VisitMut<'a> for Rewriter<'a, '_> {
    fn visit_expression(&mut self, expression: &mut Expression<'a>) {
        if is_meta_member(expression, "url") {
            let text = oxc::str::Str::from_str_in(self.url, &self.ast);
            let span = oxc::span::GetSpan::span(expression);
            *expression = Expression::new_string_literal(span, text, None, &self.ast);
            return;
        }
        walk_mut::walk_expression(self, expression);
    }

    fn visit_new_expression(&mut self, new: &mut NewExpression<'a>) {
        if let Some(data) = self.file_as_url(new) {
            let text = oxc::str::Str::from_str_in(&data, &self.ast);
            let span = oxc::span::GetSpan::span(&new.arguments[0]);
            new.arguments[0] = Argument::from(Expression::new_string_literal(span, text, None, &self.ast));
            new.arguments.truncate(1);
            return;
        }
        walk_mut::walk_new_expression(self, new);
    }

    fn visit_call_expression(&mut self, call: &mut CallExpression<'a>) {
        if is_meta_member(&call.callee, "glob") || is_meta_member(&call.callee, "globEager") {
            self.found.globs.push(call.span);
        }
        walk_mut::walk_call_expression(self, call);
    }
}

impl Rewriter<'_, '_> {
    fn file_as_url(&self, new: &NewExpression<'_>) -> Option<String> {
        let is_url_class = matches!(&new.callee, Expression::Identifier(name) if name.name == "URL");
        let [Argument::StringLiteral(path), base] = new.arguments.as_slice() else { return None };
        if !is_url_class || !base.as_expression().is_some_and(|base| is_meta_member(base, "url")) {
            return None;
        }
        let path = path.value.as_str();
        if is_url(path) || !(path.starts_with('.') || is_bare(path)) {
            return None;
        }
        data_url(&self.folder.join(path))
    }
}

fn is_meta_member(expression: &Expression<'_>, name: &str) -> bool {
    matches!(expression, Expression::StaticMemberExpression(member)
        if member.property.name == name && matches!(member.object, Expression::ImportMeta(_)))
}

/// The file as a `data:` URL, if it is a file that can be read.
pub(crate) fn data_url(path: &Path) -> Option<String> {
    let bytes = std::fs::read(path).ok()?;
    let mime = rolldown_utils::mime::guess_mime(path, &bytes).ok()?;
    Some(rolldown_utils::dataurl::encode_as_shortest_dataurl(&mime, &bytes))
}
