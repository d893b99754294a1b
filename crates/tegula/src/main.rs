//! The command line of tegula.

mod command;

use std::process::ExitCode;

fn main() -> ExitCode {
    command::run()
}
