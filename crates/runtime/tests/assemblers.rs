//! NVIDIA's assemblers, where they are installed: `TEGULA_TEST_PACKAGES` names a folder of Python packages with
//! nvidia-nvjitlink and nvidia-cuda-nvcc.

use std::path::PathBuf;
use tegula_ptx::Target as Architecture;
use tegula_runtime::cuda::assemble::nvjitlink::NvJitLink;
use tegula_runtime::cuda::assemble::ptxas::Ptxas;
use tegula_runtime::cuda::assemble::{Assembler, Failure, Job};

/// Adds one to a number; the count of registers is what the assemblers make of it.
const ADD_ONE: &str = "
.version 7.0
.target sm_80
.address_size 64
.visible .entry add_one(.param .u64 place)
{
    .reg .b64 %address;
    .reg .b32 %value;
    ld.param.u64 %address, [place];
    ld.global.u32 %value, [%address];
    add.u32 %value, %value, 1;
    st.global.u32 [%address], %value;
    ret;
}
";

fn assemblers() -> [Assembler; 2] {
    let folder =
        std::env::var_os("TEGULA_TEST_PACKAGES").expect("TEGULA_TEST_PACKAGES names a folder of packages");
    let packages = [PathBuf::from(folder)];
    [
        Assembler::NvJitLink(NvJitLink::find(&packages).expect("nvJitLink is installed")),
        Assembler::Ptxas(Ptxas::find(&packages).expect("ptxas is installed")),
    ]
}

#[test]
#[ignore = "needs NVIDIA's assemblers"]
fn code_of_an_older_architecture_is_assembled_for_newer_ones() {
    for assembler in assemblers() {
        for machine in [Architecture::portable(80), Architecture::portable(86), Architecture::specific(90)] {
            let job = Job { ptx: ADD_ONE, machine, max_registers: Some(32) };
            let assembled = assembler.assemble(&job).unwrap();
            assert_eq!(&assembled.cubin[..4], b"\x7fELF", "{assembler} for {machine}");
            assert!(assembled.report.registers.is_some_and(|count| (1..=32).contains(&count)));
            assert_eq!(assembled.report.spilled_bytes, Some(0));
        }
    }
}

#[test]
#[ignore = "needs NVIDIA's assemblers"]
fn refusals_say_the_line() {
    let wrong = ADD_ONE.replace("add.u32", "ad.u32");
    for assembler in assemblers() {
        let job = Job { ptx: &wrong, machine: Architecture::specific(90), max_registers: None };
        let Err(Failure::Refused(log)) = assembler.assemble(&job) else { panic!("{assembler}") };
        assert!(log.contains("line 11") && log.contains("'ad'"), "{assembler}: {log}");
    }
}

#[test]
#[ignore = "needs NVIDIA's assemblers"]
fn threads_assemble_at_once() {
    let assemblers = assemblers();
    std::thread::scope(|scope| {
        for thread in 0..8 {
            let assembler = &assemblers[thread % assemblers.len()];
            scope.spawn(move || {
                let job = Job { ptx: ADD_ONE, machine: Architecture::specific(90), max_registers: None };
                assert_eq!(&assembler.assemble(&job).unwrap().cubin[..4], b"\x7fELF");
            });
        }
    });
}

#[test]
fn without_a_toolkit_the_message_says_what_to_install() {
    // Where there is a GPU, the driver may well assemble it.
    let job = Job { ptx: ADD_ONE, machine: Architecture::specific(90), max_registers: None };
    if let Err(failure) = Assembler::Driver.assemble(&job) {
        let Failure::Unavailable(message) = failure else { panic!("{failure:?}") };
        assert!(message.contains("ptxas"), "{message}");
    }
}
