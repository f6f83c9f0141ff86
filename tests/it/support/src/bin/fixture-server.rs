//! The fixture server on its own.
//!
//! `fixture-server` prints its address and serves until its standard input ends.
//! `fixture-server COMMAND [ARGUMENT...]` runs the command with `{url}` in its arguments replaced by the address, and
//! ends with its exit status.
//! `--recorder FILE` before either gives the script that records the pages under `/lab`.

use std::io::{Read, Write};
use std::process::{Command, ExitCode};

use support::server::FixtureServer;

fn main() -> std::io::Result<ExitCode> {
    let mut arguments = std::env::args().skip(1).peekable();
    let mut recorder = String::new();
    if arguments.next_if_eq("--recorder").is_some() {
        recorder = fs_err::read_to_string(arguments.next().unwrap_or_default())?;
    }
    let server = FixtureServer::start_with(recorder.leak());
    let mut arguments = arguments.map(|argument| argument.replace("{url}", &server.url()));
    let Some(command) = arguments.next() else {
        writeln!(std::io::stdout(), "{}", server.url())?;
        std::io::stdin().read_to_end(&mut Vec::new())?;
        return Ok(ExitCode::SUCCESS);
    };
    let status = Command::new(command).args(arguments).status()?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}
