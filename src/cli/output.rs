//! Where text goes: what was asked for to stdout, everything else to stderr. No other file of the command line prints.

use std::io::{self, Write};

use crate::report::{Terminal, block};

/// Stdout as it is, for help and the like.
pub(super) fn print(text: &str) {
    Terminal::stdout(false).print(text);
}

/// Stderr, as something that takes text.
pub(super) fn stderr() -> Terminal {
    Terminal::to(Box::new(io::stderr()))
}

/// Says on stderr what keeps the tool from doing what was asked.
pub(super) fn error(message: &str) {
    // Nobody is left to hear that stderr is closed.
    drop(writeln!(io::stderr(), "devtools-test: {}", block(message)));
}
