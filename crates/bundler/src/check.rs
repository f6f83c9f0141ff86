//! Whether options are what their readers will take, known before anything starts.

use oxc::allocator::Allocator;
use oxc::regular_expression::{LiteralParser, Options};
use oxc::transformer::EnvOptions;

/// Whether rolldown takes this list as [`crate::Options::target`].
///
/// # Errors
/// What it does not take, in one sentence.
pub fn check_target(target: &[String]) -> Result<(), String> {
    EnvOptions::from_target_list(target).map(drop)
}

/// Whether this is the source of a regular expression that JavaScript's `new RegExp(source)` takes.
///
/// # Errors
/// The mistake, in one sentence.
pub fn check_pattern(source: &str) -> Result<(), String> {
    let allocator = Allocator::default();
    match LiteralParser::new(&allocator, source, None, Options::default()).parse() {
        Ok(_) => Ok(()),
        Err(diagnostic) => Err(diagnostic.message.to_string()),
    }
}
