"""When a kernel is compiled anew, and when it is not."""

import importlib
import sys
import threading

import pytest

import tegula
import tegula.language as tl

torch = pytest.importorskip("torch")


def variants(kernel):
    return len(kernel.compiled_kernels())


def test_new_values_compile_nothing_new():
    @tegula.jit
    def kernel(out_ptr, n, x):
        tl.store(out_ptr, n + x)

    out = torch.zeros(1)
    for n in (3, 5, 7, 2**20 + 1, -9):
        kernel[(1,)](out, n, 0.5 * n)
        assert out.item() == n + 0.5 * n
    assert variants(kernel) == 1


def test_facts_compile_variants():
    @tegula.jit
    def kernel(out_ptr, n):
        tl.store(out_ptr, n)

    out = torch.zeros(4, dtype=torch.int64)
    for n in (3, 16, 1, 2**40, 5, 32):
        kernel[(1,)](out, n)
        assert out[0] == n
    assert variants(kernel) == 4  # int32, int32 by 16, the constant 1, int64 by 16
    kernel[(1,)](out[1:], 3)
    assert variants(kernel) == 5  # and an address that is not a multiple of 16


def test_kinds_of_arguments_that_take_turns():
    @tegula.jit
    def kernel(out_ptr, x, C: tl.constexpr):
        tl.store(out_ptr, x + C)

    out, double = torch.zeros(1), torch.zeros(1, dtype=torch.float64)
    for turn in range(6):
        for target, x, constant in ((out, 3, 1), (double, 3, 1), (out, 3.5, 1), (out, 3, 2)):
            kernel[(1,)](target, x, C=constant)
            assert target.item() == x + constant
        if turn == 3:
            kernel.clear_cache()
    assert variants(kernel) == 4


def test_do_not_specialize():
    @tegula.jit(do_not_specialize=["n"], do_not_specialize_on_alignment=[0])
    def kernel(out_ptr, n):
        tl.store(out_ptr, n)

    out = torch.zeros(4, dtype=torch.int64)
    for n in (3, 16, 1):
        kernel[(1,)](out[n % 3 :], n)
        assert out[n % 3] == n
    assert variants(kernel) == 1


def test_equal_constants_of_different_types_are_different():
    @tegula.jit
    def kernel(out_ptr, C: tl.constexpr):
        if isinstance(C, bool):
            tl.store(out_ptr, 1)
        elif isinstance(C, float):
            tl.store(out_ptr, 2)
        else:
            tl.store(out_ptr, 3)

    out = torch.zeros(1, dtype=torch.int32)
    for _ in range(2):
        for constant, expected in ((1, 3), (1.0, 2), (True, 1)):
            kernel[(1,)](out, C=constant)
            assert out.item() == expected
    assert variants(kernel) == 3


@tegula.jit
def helper(x):
    return x + 1


OFFSET = tl.constexpr(10)


@tegula.jit
def uses_globals(out_ptr):
    tl.store(out_ptr, helper(tl.program_id(0)) + OFFSET)


def test_redefined_globals_are_noticed(monkeypatch):
    out = torch.zeros(1, dtype=torch.int32)
    uses_globals[(1,)](out)
    assert out.item() == 11

    @tegula.jit
    def other(x):
        return x + 5

    monkeypatch.setitem(globals(), "helper", other)
    uses_globals[(1,)](out)
    assert out.item() == 15
    monkeypatch.setitem(globals(), "OFFSET", tl.constexpr(20))
    uses_globals[(1,)](out)
    assert out.item() == 25
    assert variants(uses_globals) == 1


def test_rebound_closures_are_noticed():
    def make():
        amount = tl.constexpr(3)

        @tegula.jit
        def kernel(out_ptr):
            tl.store(out_ptr, amount)

        def rebind(value):
            nonlocal amount
            amount = tl.constexpr(value)

        return kernel, rebind

    kernel, rebind = make()
    out = torch.zeros(1, dtype=torch.int32)
    kernel[(1,)](out)
    assert out.item() == 3
    rebind(4)
    kernel[(1,)](out)
    assert out.item() == 4


MODULE = """
import tegula
import tegula.language as tl

@tegula.jit
def inner(x):
    return x {op} 3

@tegula.jit
def kernel(out_ptr):
    tl.store(out_ptr, inner(tl.program_id(0) + 10))
"""


def test_edited_modules_are_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.syspath_prepend(str(tmp_path))
    out = torch.zeros(1, dtype=torch.int32)
    path = tmp_path / "edited_module.py"
    module = None
    for op, expected in (("*", 30), ("+", 13), ("-", 7)):
        path.write_text(MODULE.format(op=op))
        importlib.invalidate_caches()
        module = importlib.reload(module) if module else importlib.import_module("edited_module")
        module.kernel[(1,)](out)
        assert out.item() == expected


def test_reassigned_module_attributes_are_noticed(tmp_path, monkeypatch):
    path = tmp_path / "constants_module.py"
    path.write_text("import tegula.language as tl\nWIDTH = tl.constexpr(3)\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    constants_module = importlib.import_module("constants_module")

    @tegula.jit
    def kernel(out_ptr):
        tl.store(out_ptr, constants_module.WIDTH)

    out = torch.zeros(1, dtype=torch.int32)
    kernel[(1,)](out)
    constants_module.WIDTH = tl.constexpr(4)
    kernel[(1,)](out)
    assert out.item() == 4


def test_functions_as_constants():
    @tegula.jit
    def twice(x):
        return x * 2

    @tegula.jit
    def square(x):
        return x * x

    @tegula.jit
    def kernel(out_ptr, n, FN: tl.constexpr):
        tl.store(out_ptr, FN(n))

    out = torch.zeros(1, dtype=torch.int32)
    for fn, expected in ((twice, 14), (square, 49), (twice, 14)):
        kernel[(1,)](out, 7, FN=fn)
        assert out.item() == expected
    assert variants(kernel) == 2


def test_concurrent_first_launches_compile_once():
    compilations = []

    @tegula.constexpr_function
    def note():
        compilations.append(threading.get_ident())
        return 5

    @tegula.jit
    def kernel(out_ptr):
        tl.store(out_ptr, note())

    out = torch.zeros(1, dtype=torch.int32)
    threads = [threading.Thread(target=lambda: kernel[(1,)](out)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert out.item() == 5 and len(compilations) == 1


def test_a_failed_compilation_is_tried_again():
    @tegula.jit
    def kernel(out_ptr):
        tl.store(out_ptr, appears_later)  # noqa: F821

    out = torch.zeros(1, dtype=torch.int32)
    with pytest.raises(tegula.CompilationError, match="appears_later"):
        kernel[(1,)](out)
    globals()["appears_later"] = tl.constexpr(8)
    try:
        kernel[(1,)](out)
    finally:
        del globals()["appears_later"]
    assert out.item() == 8
