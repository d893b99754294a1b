use super::{LoadError, SourceHost};
use crate::host::{FunctionRef, Host, HostValue};
use std::path::PathBuf;
use tegula_ir::Scalar;

const HEADER: &str = "import triton\nimport triton.language as tl\n";

fn host(text: &str) -> SourceHost {
    SourceHost::from_text("test.py", &format!("{HEADER}{text}")).unwrap()
}

/// What a kernel at the end of `text` sees under the name `name`.
fn global(text: &str, name: &str) -> Option<HostValue> {
    let host = host(&format!("{text}\n@triton.jit\ndef kernel():\n    pass\n"));
    let (_, kernel) = host.kernels().last().unwrap();
    host.global(kernel, name)
}

fn shown(text: &str, name: &str) -> String {
    format!("{:?}", global(text, name).unwrap())
}

#[test]
fn constants_and_arithmetic_on_them() {
    assert_eq!(shown("A = 3", "A"), "Int(3)");
    assert_eq!(shown("A = 2 ** 4 - 1 if True else None", "A"), "Int(15)");
    assert_eq!(shown("A = 0xFF", "A"), "Int(255)");
    assert_eq!(shown("A = -float('inf')", "A"), "Float(-inf)");
    assert_eq!(shown("A = 'a' + 'b'", "A"), "Str(\"ab\")");
    assert_eq!(shown("A, B = (1, 2.5)", "B"), "Float(2.5)");
    assert_eq!(shown("A = (1, 2, 3)[-1]", "A"), "Int(3)");
    assert_eq!(shown("A = max(3, 5) > 4 and not False", "A"), "Bool(true)");
    assert_eq!(shown("import math\nA = math.sqrt(16.0)", "A"), "Float(4.0)");
    assert_eq!(shown("A = triton.next_power_of_2(100) // triton.cdiv(10, 3)", "A"), "Int(32)");
}

#[test]
fn constexprs_stay_constexprs() {
    assert_eq!(shown("A = tl.constexpr(4)", "A"), "Constexpr(Int(4))");
    assert_eq!(shown("A: tl.constexpr = 4", "A"), "Constexpr(Int(4))");
    assert_eq!(shown("A: tl.constexpr = tl.constexpr(4)", "A"), "Constexpr(Int(4))");
    assert_eq!(shown("A = tl.constexpr(4) * 2", "A"), "Constexpr(Int(8))");
    assert_eq!(shown("A = tl.constexpr(4).value", "A"), "Int(4)");
}

#[test]
fn parts_of_the_language() {
    assert!(matches!(global("", "tl"), Some(HostValue::Language(""))));
    assert!(matches!(global("A = tl.float16", "A"), Some(HostValue::Type(Scalar::Float16))));
    assert!(matches!(global("from triton.language import math", "math"), Some(HostValue::Language("math"))));
    let libdevice = "from triton.language.extra import libdevice";
    assert!(matches!(global(libdevice, "libdevice"), Some(HostValue::Language("extra.libdevice"))));
    assert!(matches!(global("import tegula.language as t", "t"), Some(HostValue::Language(""))));
    assert!(matches!(
        global("from triton.language import int32 as i", "i"),
        Some(HostValue::Type(Scalar::Int32))
    ));
}

#[test]
fn what_only_python_knows_is_a_name_of_its_own() {
    for text in
        ["A = open('x').read()", "A = [x for x in (1, 2)]", "A = 1\nA += 1", "A = missing", "A, B = f()"]
    {
        assert!(matches!(global(text, "A"), Some(HostValue::Other(..))), "{text}");
    }
    assert!(global("", "A").is_none());
    assert!(matches!(global("import torch", "torch"), Some(HostValue::Module(_))));
    assert!(matches!(global("def A(): pass", "A"), Some(HostValue::PlainFunction { .. })));
}

#[test]
fn conditions_and_attempts() {
    assert_eq!(shown("if 1 < 2:\n    A = 1\nelse:\n    A = 2", "A"), "Int(1)");
    assert_eq!(shown("if 1 > 2:\n    A = 1\nelif 3 > 2:\n    A = 2\nelse:\n    A = 3", "A"), "Int(2)");
    assert_eq!(shown("try:\n    A = 1\nexcept ImportError:\n    A = 2", "A"), "Int(1)");
    assert!(global("if __name__ == '__main__':\n    B = 1", "B").is_none());
}

#[test]
fn functions_of_every_kind() {
    let text = "
@triton.jit
def helper(x):
    return x

@triton.autotune(configs=[], key=[])
@triton.jit(noinline=True)
def kernel(x_ptr, n=3, *, BLOCK: tl.constexpr = 2 * 8):
    pass

@triton.constexpr_function
def double(x):
    return 2 * x

def plain():
    pass
";
    let host = host(text);
    let names: Vec<&str> = host.kernels().map(|(name, _)| name).collect();
    assert_eq!(names, ["helper", "kernel"]);
    let (_, kernel) = host.kernels().last().unwrap();
    let source = host.function(kernel).unwrap();
    assert!(source.noinline);
    assert!(source.file.text[source.start as usize..].starts_with("@triton.autotune"));
    let defaults: Vec<_> =
        source.params.iter().map(|param| format!("{} {:?}", param.name, param.default)).collect();
    assert_eq!(defaults, ["x_ptr None", "n Some(Int(3))", "BLOCK Some(Int(16))"]);
    assert!(host.function(FunctionRef(99)).is_err());
}

#[test]
fn the_last_of_two_functions_with_one_name_counts() {
    let host = host("@triton.jit\ndef f(a):\n    pass\n@triton.jit\ndef f(b):\n    pass\n");
    let kernels: Vec<_> = host.kernels().collect();
    assert_eq!(kernels.len(), 1);
    assert_eq!(host.function(kernels[0].1).unwrap().params[0].name, "b");
}

#[test]
fn named_tuples_and_classes_of_constants() {
    for definition in [
        "from typing import NamedTuple\nclass P(NamedTuple):\n    x: int\n    y: int\n",
        "from collections import namedtuple\nP = namedtuple('P', ['x', 'y'])\n",
        "import collections\nP = collections.namedtuple('P', 'x y')\n",
    ] {
        assert_eq!(shown(&format!("{definition}A = P(1, y=2).y"), "A"), "Int(2)");
        assert!(matches!(global(&format!("{definition}A = P(1)"), "A"), Some(HostValue::Other(..))));
    }
    assert_eq!(shown("class C:\n    LIMIT = 7\nA = C.LIMIT", "A"), "Int(7)");
}

fn call(definition: &str, arguments: &[i128]) -> Result<HostValue, String> {
    let host = host(&format!("{definition}\n@triton.jit\ndef kernel():\n    pass\n"));
    let (_, kernel) = host.kernels().last().unwrap();
    let Some(HostValue::ConstexprFunction(function)) = host.global(kernel, "f") else {
        panic!("f is a constexpr function")
    };
    host.call(function, arguments.iter().map(|value| HostValue::Int(*value)).collect(), Vec::new())
}

#[test]
fn constexpr_functions_are_evaluated() {
    let definition = "
LIMIT = 100
@triton.constexpr_function
def f(n, scale=2):
    '''Sums multiples.'''
    total = 0
    for i in range(n):
        if i == 3:
            continue
        total += scale * i
    while total > LIMIT:
        total //= 2
    return total
";
    assert!(matches!(call(definition, &[5]), Ok(HostValue::Int(14))));
    assert!(matches!(call(definition, &[5, 100]), Ok(HostValue::Int(87))));
    assert!(call(definition, &[]).unwrap_err().contains("missing"));
    assert!(call(definition, &[1, 2, 3]).unwrap_err().contains("takes 2"));
}

#[test]
fn endless_functions_end() {
    let header = "@triton.constexpr_function\ndef f(n):\n";
    assert!(
        call(&format!("{header}    while True:\n        pass\n"), &[1]).unwrap_err().contains("too long")
    );
    assert!(call(&format!("{header}    return f(n)\n"), &[1]).unwrap_err().contains("recursion"));
    assert!(call(&format!("{header}    return 1 // n\n"), &[0]).is_err());
    assert!(
        call(&format!("{header}    assert n > 3, 'n is small'\n"), &[1]).unwrap_err().contains("n is small")
    );
}

/// A folder that is removed in the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str, files: &[(&str, &str)]) -> Folder {
        let path = std::env::temp_dir().join(format!("tegula-source-host-{}-{name}", std::process::id()));
        for (file, text) in files {
            let file = path.join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, format!("{HEADER}{text}")).unwrap();
        }
        Folder(path)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[test]
fn files_are_imported_once_and_may_import_each_other() {
    let kernel = "@triton.jit\ndef kernel():\n    pass\n";
    let helper = "@triton.jit\ndef helper(x):\n    return x\n";
    let folder = Folder::new(
        "imports",
        &[
            (
                "main.py",
                &format!(
                    "import helpers\nfrom helpers import helper as h, SIZE\nfrom package.inner import *\nimport package.inner\n{kernel}"
                ),
            ),
            ("helpers.py", &format!("import main\nSIZE = 5\n{helper}")),
            ("package/__init__.py", "NAME = 'package'"),
            (
                "package/inner.py",
                "from . import NAME\nfrom .. import helpers\nfrom package.other import OTHER\nINNER = (NAME, OTHER)\n_HIDDEN = 1",
            ),
            ("package/other.py", "OTHER = 9"),
        ],
    );
    let host = SourceHost::from_file(folder.0.join("main.py")).unwrap();
    let (name, kernel) = host.kernels().next().unwrap();
    assert_eq!(name, "kernel");
    let shown = |name: &str| format!("{:?}", host.global(kernel, name));
    assert_eq!(shown("SIZE"), "Some(Int(5))");
    assert_eq!(shown("INNER"), "Some(Tuple([Str(\"package\"), Int(9)], None))");
    assert_eq!(shown("_HIDDEN"), "None");
    let Some(HostValue::Module(helpers)) = host.global(kernel, "helpers") else {
        panic!("helpers is a module")
    };
    let (Some(HostValue::Function(direct)), Some(HostValue::Function(renamed))) =
        (host.attribute(helpers, "helper"), host.global(kernel, "h"))
    else {
        panic!("helper is a function")
    };
    assert_eq!(direct, renamed);
    assert!(host.attribute_names(helpers).contains(&"SIZE".to_owned()));
    let Some(HostValue::Module(package)) = host.global(kernel, "package") else {
        panic!("package is a module")
    };
    assert!(matches!(host.attribute(package, "inner"), Some(HostValue::Module(_))));
}

#[test]
fn files_that_are_missing_or_not_python() {
    assert!(matches!(SourceHost::from_file("no/such/file.py"), Err(LoadError::Read { .. })));
    let Err(LoadError::Syntax(error)) = SourceHost::from_text("x.py", "a = 1\ndef f(:\n") else {
        panic!("the text is not Python")
    };
    let rendered = error.diagnostics[0].render(&error.sources, false);
    assert!(rendered.contains("x.py:2"), "{rendered}");
}
