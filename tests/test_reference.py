"""docs/language.md says what the compiler's table says, and its examples do what they say."""

import ast
import importlib.util
import inspect
import re
from pathlib import Path

import numpy as np
import pytest

import tegula.language as tl
from tegula import _native

ROOT = Path(__file__).resolve().parent.parent

HEADER = """
import tegula as triton
import tegula.language as tl

@triton.jit
def add(a, b):
    return a + b

@triton.jit
def kernel(p, q, out):
    i = tl.arange(0, 4)
    x = tl.load(p + i)
    n = tl.load(q + i)
    m = tl.reshape(tl.arange(1, 7), 2, 3).to(tl.float32)
"""


def generator():
    spec = importlib.util.spec_from_file_location("reference", ROOT / "scripts" / "reference.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_reference_is_up_to_date():
    reference = generator()
    assert reference.TARGET.read_text() == reference.document(), "run `python scripts/reference.py`"


def documented():
    """The page's entry of each function, by its name; libdevice's functions have a row of a table."""
    reference, entries = generator(), {}
    for part in reference.TARGET.read_text().partition(reference.MARKER)[2].split("\n### ")[1:]:
        name, _, text = part.partition("\n")
        entries[name] = text.partition("\n## ")[0]
    return entries


def is_function(name):
    value = getattr(tl, name)
    return callable(value) and not isinstance(value, type) and not inspect.ismodule(value)


def test_every_public_name_is_documented():
    page, entries = generator().TARGET.read_text(), documented()
    functions = [name for name in tl.__all__ if is_function(name) and not isinstance(getattr(tl, name), tl.dtype)]
    assert len(functions) > 100
    # Types, classes, constants and modules are in the part that is written by hand.
    others = set(tl.__all__) - set(functions)
    missing = {name for name in others if not re.search(rf"`(@triton|tl)\.{name}\b", page)}
    missing |= {name for name in functions if name not in entries and f"`tl.{name}" not in page}
    assert not missing
    for module in (tl.extra.libdevice, tl.extra.cuda):
        rows = {name for name in module.__all__ if f"| `{name}(" in page}
        assert {name for name in module.__all__ if not inspect.ismodule(getattr(module, name))} == rows


@pytest.mark.parametrize("name", sorted(documented()))
def test_an_entry_has_a_signature_a_text_and_an_example(name):
    signature, text, *rest = documented()[name].strip().split("\n\n")
    assert re.fullmatch(rf"`(tl(\.\w+)?|x)\.{name}\(.*\)`", signature)
    assert text.rstrip().endswith(".")
    example = rest[-1]
    assert example.startswith("```python\n") and example.rstrip().endswith("```")
    assert name in example


def examples():
    """The example of each function, once."""
    found = {}
    for path in _native.language_modules():
        for function in _native.language_functions(path):
            if function.example is not None:
                found[function.__name__] = function.example
    return found


def save(value, expected, start):
    """Lines that store a value of the expected structure as fp64 numbers, and how many they are."""
    if isinstance(expected, tuple):
        lines = []
        for index, item in enumerate(expected):
            more, start = save(f"{value}[{index}]", item, start)
            lines += more
        return lines, start
    if not isinstance(expected, list):
        return [f"tl.store(out + {start}, tl.to_tensor({value}).to(tl.float64))"], start + 1
    shape = np.shape(expected)
    size = int(np.prod(shape))
    return [
        f"tl.static_assert(({value}).shape == {shape})",
        f"tl.store(out + {start} + tl.arange(0, {size}), tl.ravel({value}).to(tl.float64))",
    ], start + size


def flat(expected):
    items = expected if isinstance(expected, tuple) else (expected,)
    return np.concatenate([np.ravel(np.array(item, np.float64)) for item in items])


@pytest.mark.parametrize("name", sorted(examples()))
def test_the_example_does_what_it_says(name, tmp_path, capfd):
    text, result = examples()[name]
    lines = text.split("\n")
    what, _, value = result.partition(": ")
    memory = what if what in ("p", "q") else None
    expected = None
    if result and what != "prints":
        expected = ast.literal_eval(value if value else result)
    if expected is not None and memory is None:
        if not value:
            lines[-1] = f"result = {lines[-1]}"
        lines += save(what if value else "result", expected, 0)[0]
    file = tmp_path / f"example_{name}.py"
    file.write_text(HEADER + "".join(f"    {line}\n" for line in lines))
    spec = importlib.util.spec_from_file_location(file.stem, file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    arrays = {"p": np.array([1, 2, 3, 4], np.float32), "q": np.array([3, 1, 2, 0], np.int32)}
    out = np.full(64, np.nan)
    module.kernel[(1,)](arrays["p"], arrays["q"], out)
    if what == "prints":
        assert value in capfd.readouterr().out
    elif memory is not None:
        np.testing.assert_array_equal(arrays[memory], expected)
    elif expected is not None:
        want = flat(expected)
        np.testing.assert_allclose(out[: len(want)], want, rtol=1e-6, atol=1e-6)
        assert np.isnan(out[len(want) :]).all()
