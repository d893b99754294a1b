//! Every form of instruction is printed and read back.

mod catalogue;

use std::collections::BTreeSet;

use catalogue::{REGISTERS, catalogue};
use proptest::prelude::*;
use tegula_ptx::*;

/// A module whose kernel holds the instructions, some of them guarded.
fn module(instructions: Vec<Instruction>, guard: impl Fn(usize) -> Option<Predicate>) -> Module {
    let mut kernel = Function::kernel("every_form");
    kernel.registers = [REGISTERS; 5];
    kernel.parameters.push(Parameter::new("pointer", Type::U64));
    let map = Parameter { array: Some(128), align: Some(64), ..Parameter::new("map", Type::B8) };
    kernel.parameters.push(map);
    kernel.body.push(Statement::Label(Label(0)));
    for (index, instruction) in instructions.into_iter().enumerate() {
        kernel.body.push(Statement::Instruction { guard: guard(index), instruction });
    }
    let mut module = Module::new(90);
    module.variables.push(Variable::dynamic_shared("tile", 128));
    module.variables.push(Variable::text("text", "n = %d\n"));
    module.functions.push(kernel);
    module
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20))]

    #[test]
    fn every_form_reads_back(seed in any::<u64>()) {
        let guard = |index: usize| {
            let register = Register { class: Class::Pred, index: index as u32 % REGISTERS };
            let negated = index.is_multiple_of(2);
            index.is_multiple_of(3).then_some(Predicate { register, negated })
        };
        let module = module(catalogue(seed), guard);
        let text = module.to_string();
        prop_assert_eq!(Module::parse(&text), Ok(module));
    }

    #[test]
    fn damaged_text_is_an_error_and_never_a_panic(seed in any::<u64>(), cut in any::<prop::sample::Index>()) {
        let text = module(catalogue(seed), |_| None).to_string();
        let cut = cut.index(text.len());
        if text.is_char_boundary(cut) {
            prop_assert!(Module::parse(&text[..cut]).is_err());
            let mut joined = text.clone();
            joined.replace_range(cut..=cut, "");
            // Removing one character may leave valid text, such as a shorter number.
            let _ = Module::parse(&joined);
        }
    }
}

#[test]
fn the_catalogue_has_every_name_that_the_parser_knows() {
    let printed: BTreeSet<String> = catalogue(1).iter().map(|instruction| instruction.to_string()).collect();
    let begins = |name: &str| {
        printed.iter().any(|text| {
            text.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', ' ']))
        })
    };
    let missing: Vec<&str> = Instruction::names().filter(|name| !begins(name)).collect();
    assert_eq!(missing, Vec::<&str>::new());
}

#[test]
fn statements_and_declarations_read_back() {
    let mut module = Module::new(90);
    module.files = vec!["/a/kernel.py".into(), "b.py".into()];
    module.externs.push(ExternFunction::vprintf());
    module.variables.push(Variable::dynamic_shared("smem", 1024));
    module.variables.push(Variable {
        linkage: Linkage::Visible,
        space: Space::Global,
        align: 8,
        ty: Type::B64,
        name: "counter".into(),
        extent: Extent::One,
        bytes: Vec::new(),
    });
    let mut kernel = Function::kernel("prints");
    kernel.bounds = LaunchBounds {
        max_threads: Some([384, 1, 1]),
        required_threads: Some([384, 1, 1]),
        min_blocks: Some(1),
        max_registers: Some(168),
        cluster: Some([2, 1, 1]),
    };
    let pointer = PointerFact { space: Space::Global, align: 16 };
    kernel.parameters.push(Parameter { pointer: Some(pointer), ..Parameter::new("data", Type::U64) });
    let (format, arguments, result) =
        (kernel.fresh(Class::Bits64), kernel.fresh(Class::Bits64), kernel.fresh(Class::Bits32));
    kernel.variables.push(Variable {
        linkage: Linkage::Internal,
        space: Space::Local,
        align: 8,
        ty: Type::B8,
        name: "packed".into(),
        extent: Extent::Array(16),
        bytes: Vec::new(),
    });
    kernel.body.push(Statement::Location { file: 1, line: 12, column: 5 });
    let call = Call {
        uniform: true,
        function: "vprintf".into(),
        arguments: vec![(Type::B64, format.into()), (Type::B64, arguments.into())],
        result: Some((Type::B32, result)),
    };
    kernel.body.push(Statement::Call(call));
    kernel.body.push(Statement::Call(Call {
        uniform: false,
        function: "helper".into(),
        arguments: vec![],
        result: None,
    }));
    kernel.body.push(Statement::Verbatim("\t{ .reg .b32 t; unknown.thing t, \"x\"; }".into()));
    kernel.push(Control::Return);
    module.functions.push(kernel);
    let mut helper = Function::kernel("helper");
    (helper.is_kernel, helper.visible) = (false, false);
    helper.results.push(Parameter::new("result0", Type::F32));
    module.functions.push(helper);
    let text = module.to_string();
    assert_eq!(Module::parse(&text), Ok(module), "{text}");
}

#[test]
fn texts_of_the_user_are_read_as_instructions() {
    let mut kernel = Function::kernel("k");
    let [result, operand] = [(); 2].map(|()| kernel.fresh(Class::Bits32));
    kernel.body.push(Statement::Label(Label(3)));
    kernel.body.push(Statement::Verbatim(format!(
        "{{ /* A {{ scope. */ // Of it.\n  .reg .pred p; .reg.b32 t<2>, u;\n  setp.lt.s32 p, {operand}, 0;\n  @!p bra DONE;\n\
         mov.b64 {{t0, _}}, %d0; mov.u32 u, %laneid;\n  lop3.b32 {result}, t0, u, 0, 0x30;\n  DONE:\n}}"
    )));
    kernel.push(Control::Return);
    kernel.registers[Class::Bits64 as usize] = 1;
    let (read, lines) = kernel.with_texts_read(&[10, 11, 20]).unwrap();
    let mut printed = Module::new(80);
    printed.functions.push(read.clone());
    let printed = printed.to_string();
    for line in [
        "setp.lt.s32 %p0, %r1, 0;",
        "@!%p0 bra $L4;",
        "mov.b64 {%r2, _}, %d0;",
        "mov.u32 %r4, %laneid;",
        "lop3.b32 %r0, %r2, %r4, 0, 48;",
        "$L4:",
    ] {
        assert!(printed.contains(line), "{line}\n{printed}");
    }
    assert_eq!(read.registers, [1, 0, 5, 1, 0]);
    assert_eq!(lines, [10, 15, 16, 17, 17, 18, 19, 20]);

    kernel.body[1] = Statement::Verbatim("\nfoo.b32 %r0, %r1;".into());
    let error = kernel.with_texts_read(&[10, 11, 20]).unwrap_err();
    assert_eq!(error.line, 14);
    assert!(error.message.contains("foo.b32"), "{error}");
}

#[test]
fn errors_name_the_line_and_the_instruction() {
    let text = |line: &str| {
        format!(
            ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k()\n{{\n\t.reg .b32 %r<4>;\n\t{line}\n}}\n"
        )
    };
    let message = |line: &str| Module::parse(&text(line)).unwrap_err().to_string();
    assert_eq!(message("tex.2d.v4.f32 %r1, %r2;"), "line 7: unknown instruction `tex.2d.v4.f32`");
    assert_eq!(message("add.f99 %r1, %r2, %r3;"), "line 7: in `add.f99`: expected a type, found `.f99`");
    assert_eq!(message("add.s32 %r1, %r2;"), "line 7: expected `,`, found `;`");
    assert_eq!(
        message("add.s32.rn %r1, %r2, %r3;"),
        "line 7: in `add.s32.rn`: expected the end of the name, found `.rn`"
    );
    assert_eq!(
        message("ld.global.v2.b32 %r1, [%r2];"),
        "line 7: in `ld.global.v2.b32`: expected a vector of as many registers, found nothing"
    );
    assert_eq!(
        message(".reg .b64 %r<2>;"),
        "line 7: expected the letter of registers of `.b64` before, found `<`"
    );
    assert!(Module::parse("").unwrap_err().to_string().starts_with("line 1: expected `.version`"));
}

#[test]
fn version_and_target_follow_from_the_instructions() {
    let with = |architecture, instructions: Vec<Instruction>| {
        let mut module = module(instructions, |_| None);
        module.architecture = architecture;
        module.functions[0].registers[Class::Bits128 as usize] = 0;
        (module.target().to_string(), module.version().to_string())
    };
    let own = |architecture| with(architecture, vec![Barrier::block().into()]);
    assert_eq!(own(80), ("sm_80".into(), "7.0".into()));
    assert_eq!(own(86), ("sm_86".into(), "7.1".into()));
    assert_eq!(own(89), ("sm_89".into(), "7.8".into()));
    assert_eq!(own(90), ("sm_90".into(), "7.8".into()));
    assert_eq!(own(100), ("sm_100".into(), "8.6".into()));
    assert_eq!(own(120), ("sm_120".into(), "8.7".into()));
    assert_eq!(with(90, vec![WgmmaControl::Fence.into()]), ("sm_90a".into(), "8.0".into()));
    let registers = SetMaxRegisters { increase: true, count: 232 };
    assert_eq!(with(120, vec![registers.into()]), ("sm_120a".into(), "8.7".into()));
    assert_eq!(with(90, vec![Fence::TensorMapRelease(Scope::Gpu).into()]), ("sm_90".into(), "8.3".into()));
}

#[test]
fn what_the_architecture_lacks_is_an_error() {
    let mut module = module(vec![WgmmaControl::Commit.into()], |_| None);
    assert_eq!(module.check(), Ok(()));
    for architecture in [80, 89, 100] {
        module.architecture = architecture;
        let message = module.check().unwrap_err().to_string();
        let expected = format!(
            "`wgmma.commit_group.sync.aligned` in `every_form` needs sm_90a, and the target is sm_{architecture}"
        );
        assert_eq!(message, expected);
    }
}
