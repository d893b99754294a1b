//! Every form of instruction is accepted by `ptxas` on every target that has it.
//!
//! The assembler is not part of the build. With `TEGULA_PTXAS=<path>` (or `ptxas`, to search `PATH`) the test
//! runs; without, it is listed as ignored, and `cargo test -- --ignored` fails if there is no assembler.

mod catalogue;

use std::process::Command;

use catalogue::{REGISTERS, catalogue};
use tegula_ptx::*;

/// A module with one kernel of these instructions.
fn module(architecture: u32, instructions: &[Instruction]) -> Module {
    let mut kernel = Function::kernel("every_form");
    kernel.registers = [REGISTERS; 5];
    if !instructions.iter().any(|instruction| instruction.to_string().contains("%q")) {
        // Registers of 128 bits alone ask for a later version.
        kernel.registers[Class::Bits128 as usize] = 0;
    }
    kernel.bounds.max_threads = Some([128, 1, 1]);
    kernel.bounds.min_blocks = Some(1);
    kernel.parameters.push(Parameter::new("pointer", Type::U64));
    let map = Parameter { array: Some(128), align: Some(64), ..Parameter::new("map", Type::B8) };
    kernel.parameters.push(map);
    kernel.body.push(Statement::Location { file: 1, line: 2, column: 1 });
    kernel.body.push(Statement::Label(Label(0)));
    for instruction in instructions {
        kernel.push(instruction.clone());
    }
    let call = Call {
        uniform: true,
        function: "vprintf".into(),
        arguments: vec![(Type::B64, Register { class: Class::Bits64, index: 0 }.into()); 2],
        result: Some((Type::B32, Register { class: Class::Bits32, index: 0 })),
    };
    kernel.body.push(Statement::Call(call));
    let mut module = Module::new(architecture);
    module.files.push("kernel.py".into());
    module.externs.push(ExternFunction::vprintf());
    module.variables.push(Variable::dynamic_shared("tile", 128));
    module.variables.push(Variable::text("text", "n = %d\n"));
    module.functions.push(kernel);
    module
}

fn assemble(ptxas: &str, name: &str, module: &Module) -> Result<(), String> {
    let source = std::env::temp_dir().join(format!("tegula-{}-{name}.ptx", std::process::id()));
    std::fs::write(&source, module.to_string()).map_err(|error| error.to_string())?;
    let target = format!("-arch={}", module.target());
    // Optimisation is not what is tested, and most of the time.
    let output = Command::new(ptxas).args(["-O0", &target, "-o", "/dev/null"]).arg(&source).output();
    let removed = std::fs::remove_file(&source);
    let output = output.map_err(|error| format!("cannot run {ptxas}: {error}"))?;
    removed.map_err(|error| error.to_string())?;
    if output.status.success() { Ok(()) } else { Err(String::from_utf8_lossy(&output.stderr).into_owned()) }
}

/// The forms that the architecture has. Those of one requirement share a module, so that the version of PTX
/// and the target that they claim are tested too.
fn assemble_all(architecture: u32) {
    let ptxas = std::env::var("TEGULA_PTXAS").unwrap_or_else(|_| "ptxas".into());
    let mut groups: Vec<(Requirement, Vec<Instruction>)> = Vec::new();
    for instruction in catalogue(7) {
        let requirement = instruction.requirement();
        match groups.iter_mut().find(|(other, _)| *other == requirement) {
            Some((_, group)) => group.push(instruction),
            None if requirement.is_met_by(architecture) => groups.push((requirement, vec![instruction])),
            None => {}
        }
    }
    let mut failures = String::new();
    for (index, (requirement, group)) in groups.iter().enumerate() {
        let module = module(architecture, group);
        assert_eq!(module.check(), Ok(()));
        if let Err(message) = assemble(&ptxas, &format!("{architecture}-{index}"), &module) {
            failures += &format!("{requirement}, {}, PTX {}:\n{message}", module.target(), module.version());
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

/// A scope each: two texts may declare the same names, and the last line may be a comment.
#[test]
#[ignore = "needs ptxas: set TEGULA_PTXAS"]
fn texts_of_the_user_assemble() {
    let ptxas = std::env::var("TEGULA_PTXAS").unwrap_or_else(|_| "ptxas".into());
    for architecture in [80, 89, 90, 120] {
        let mut module = module(architecture, &[]);
        let kernel = &mut module.functions[0];
        let register = kernel.fresh(Class::Bits32);
        for _ in 0..2 {
            let text = format!(".reg .b32 t; mov.u32 t, {register}; // of {register}");
            kernel.body.push(Statement::Verbatim(text));
        }
        let outcome = assemble(&ptxas, &format!("text-{architecture}"), &module);
        assert_eq!(outcome, Ok(()), "{}", module.target());
    }
}

#[test]
#[ignore = "needs ptxas: set TEGULA_PTXAS"]
fn every_form_assembles_for_sm_80() {
    assemble_all(80);
}

#[test]
#[ignore = "needs ptxas: set TEGULA_PTXAS"]
fn every_form_assembles_for_sm_86() {
    assemble_all(86);
}

#[test]
#[ignore = "needs ptxas: set TEGULA_PTXAS"]
fn every_form_assembles_for_sm_89() {
    assemble_all(89);
}

#[test]
#[ignore = "needs ptxas: set TEGULA_PTXAS"]
fn every_form_assembles_for_sm_90() {
    assemble_all(90);
}

#[test]
#[ignore = "needs ptxas: set TEGULA_PTXAS"]
fn every_form_assembles_for_sm_100() {
    assemble_all(100);
}

#[test]
#[ignore = "needs ptxas: set TEGULA_PTXAS"]
fn every_form_assembles_for_sm_120() {
    assemble_all(120);
}
