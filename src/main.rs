//! The thin binary: parse, do, exit.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(devtools_test::cli::main(std::env::args_os()).code())
}
