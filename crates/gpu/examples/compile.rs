//! Compiles functions in text form to PTX: `compile sm_80 OUT_FOLDER FILE.tir...` writes a file each, and names what is refused.

use std::process::ExitCode;
use tegula_gpu::{Options, Target, compile};

fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(target), Some(folder)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: compile sm_80 OUT_FOLDER FILE.tir...");
        return ExitCode::FAILURE;
    };
    let Some(target) = Target::from_text(&target) else {
        eprintln!("unknown target {target}");
        return ExitCode::FAILURE;
    };
    let mut refused = 0;
    for path in arguments {
        let outcome = std::fs::read_to_string(&path).map_err(|error| error.to_string()).and_then(|text| {
            let function = tegula_ir::Function::parse(&text).map_err(|error| error.to_string())?;
            let kernel = compile(&function, target, &Options::default()).map_err(|error| error.message)?;
            let name =
                std::path::Path::new(&path).file_stem().unwrap_or_default().to_string_lossy().into_owned();
            std::fs::write(format!("{folder}/{name}.ptx"), kernel.ptx).map_err(|error| error.to_string())
        });
        if let Err(message) = outcome {
            refused += 1;
            println!("{path}: {message}");
        }
    }
    if refused == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
