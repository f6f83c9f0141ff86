//! The command line: what was typed, and what a person sees.
//!
//! - `args`: what may be typed (clap's types, used nowhere else).
//! - `output`: where text goes: data to stdout, everything else to stderr.
//! - `present`: shows the code by which a device attaches.
//! - `qr_file`: the same as a picture in a file.
//! - `follow`: the dashboard of a run, and the keys that a person may press meanwhile.
//! - `keys`: single keys from a terminal.
//! - `signals`: Ctrl-C and its kin.
//! - `log`: the log of `-v` and `--log-file`.
//! - `run`: the subcommand that runs tests.
//! - `secret`: `secret init`.
//! - `mcp`: the server for coding agents.
//! - `transport`: reads what a run recorded.
//! - `doctor`: looks at each link of the chain.

mod args;
mod doctor;
mod follow;
mod keys;
mod log;
mod mcp;
mod output;
mod present;
mod qr_file;
mod run;
mod secret;
mod signals;
mod transport;

use std::ffi::OsString;

use crate::exit::Exit;

use args::{Parsed, parse};
use output::{error, print};

/// Does what the command line says. `args` begins with the name of the program.
pub fn main(args: impl IntoIterator<Item = OsString>) -> Exit {
    match parse(args) {
        Ok(Parsed::Run(given)) => run::run(*given),
        Ok(Parsed::SecretInit(given)) => secret::init(&given),
        Ok(Parsed::Doctor { given, json, clock }) => doctor::doctor(*given, json, clock),
        Ok(Parsed::Mcp { given, qr_in_results }) => mcp::mcp(*given, qr_in_results),
        Ok(Parsed::Transport(asked)) => transport::transport(&asked),
        Ok(Parsed::Text(text)) => print(&text, Exit::Passed),
        Err(message) => {
            error(&message);
            Exit::Usage
        }
    }
}
