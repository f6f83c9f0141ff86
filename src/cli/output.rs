//! Where text goes: what was asked for to stdout, everything else to stderr. No other file of the command line prints.

use std::io::{self, Write};

use crate::exit::Exit;
use crate::report::{Terminal, block};

/// Writes to stdout, for help and the like, and comes to `exit`; where that was `Passed` and stdout takes no more, to
/// what says so.
pub(super) fn print(text: &str, exit: Exit) -> Exit {
    let stdout = Terminal::stdout(false);
    stdout.print(text);
    match stdout.problem() {
        Some(problem) => {
            error(&problem.to_string());
            if exit == Exit::Passed { Exit::Environment } else { exit }
        }
        None => exit,
    }
}

/// Stdout, for what is too long to be held.
pub(super) fn stdout() -> impl Write {
    io::stdout().lock()
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
