"""The type stubs of the language say what the compiler's table says."""

import ast
import importlib.util
from pathlib import Path

import tegula
import tegula.language as tl

ROOT = Path(__file__).resolve().parent.parent


def generator():
    spec = importlib.util.spec_from_file_location("stubs", ROOT / "scripts" / "stubs.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_stubs_are_up_to_date():
    stubs = generator()
    for path, text in stubs.stubs().items():
        assert (stubs.TARGET / path).read_text() == text, f"{path}: run `python scripts/stubs.py`"


def test_the_stubs_are_python_and_name_everything():
    stubs = generator().stubs()
    trees = {path: ast.parse(text) for path, text in stubs.items()}
    defined = set()
    for node in trees[Path("__init__.pyi")].body:
        if isinstance(node, ast.ImportFrom):
            defined |= {alias.asname for alias in node.names}
        elif isinstance(node, ast.AnnAssign):
            defined.add(node.target.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            defined.add(node.name)
    assert set(tl.__all__) <= defined


def test_the_package_says_that_it_is_typed():
    assert (Path(tegula.__file__).parent / "py.typed").exists()
