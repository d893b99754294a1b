"""Grids, and the ways to launch."""

import copy
import gc
import pickle
import tempfile
import threading
import weakref

import numpy as np
import pytest

import tegula
import tegula.language as tl

torch = pytest.importorskip("torch")


@tegula.jit
def count(out_ptr, step):
    tl.atomic_add(out_ptr, step)


@tegula.jit
def where(out_ptr, B: tl.constexpr = 2):
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    tl.store(out_ptr + (z * tl.num_programs(1) + y) * tl.num_programs(0) + x, x + 10 * y + 100 * z + 1000 * B)


@pytest.mark.parametrize("grid", [(5,), [5], (2, 3), (2, 3, 4), (np.int64(3), np.int32(2))])
def test_grids_as_sequences(grid):
    extents = (*grid, 1, 1)[:3]
    out = torch.zeros(int(np.prod(extents)), dtype=torch.int32)
    where[grid](out)
    nx, ny, nz = (int(extent) for extent in extents)
    assert out.tolist() == [x + 10 * y + 100 * z + 2000 for z in range(nz) for y in range(ny) for x in range(nx)]


def test_grids_as_functions_see_every_argument():
    seen = []

    def grid(meta):
        seen.append(dict(meta))
        return (meta["B"], 2)

    out = torch.zeros(6, dtype=torch.int32)
    where[grid](out, B=3, num_warps=2)
    assert out.tolist() == [3000, 3001, 3002, 3010, 3011, 3012]
    assert seen[0]["out_ptr"] is out and seen[0]["B"] == 3 and seen[0]["num_warps"] == 2
    where[grid](out)
    assert seen[1]["B"] == 2


@pytest.mark.parametrize("grid", [(0,), (3, 0), (2, 4, 0)])
def test_a_grid_without_programs_does_nothing(grid):
    out = torch.zeros(1, dtype=torch.int32)
    count[grid](out, 7)
    assert out.item() == 0


@pytest.mark.parametrize(
    "grid, error, message",
    [
        ((), ValueError, "1 to 3 extents"),
        ((1, 1, 1, 1), ValueError, "1 to 3 extents"),
        ((-1,), ValueError, "extent 0 of the grid is -1"),
        ((2**31,), ValueError, "2147483647"),
        ((1.5,), TypeError, "extent 0 .* must be an int.*float"),
        (3, TypeError, "grid must be a tuple.*int"),
        (lambda meta: 3, TypeError, "grid must be a tuple.*int"),
        (None, TypeError, "grid must be a tuple"),
    ],
)
def test_grids_that_are_none(grid, error, message):
    out = torch.zeros(1, dtype=torch.int32)
    with pytest.raises(error, match=message):
        count[grid](out, 7)
    assert out.item() == 0


def test_a_kernel_with_its_grid_is_reusable():
    out = torch.zeros(1, dtype=torch.int32)
    launch = count[(4,)]
    launch(out, 1)
    launch(out, 2)
    assert out.item() == 12


def test_kernels_with_their_grids_are_told_apart():
    out = torch.zeros(1, dtype=torch.int32)
    launches = [count[(4,)], count[(2, 1, 1)], count[(4, 1)], count[[4]], count[(np.int64(4),)]]
    for launch in launches:
        out.zero_()
        launch(out, 1)
        assert out.item() == (2 if launch is launches[1] else 4)
    for extent in (1, 2, 1, 3):
        out.zero_()
        count[(extent,)](out, 1)
        assert out.item() == extent


def test_a_kernel_with_its_grid_keeps_the_kernel():
    def make():
        @tegula.jit
        def kernel(out_ptr):
            tl.store(out_ptr, 7)

        return kernel[(1,)]

    launch = make()
    gc.collect()
    out = torch.zeros(1)
    launch(out)
    assert out.item() == 7


def test_what_a_kernel_with_its_grid_refuses():
    out = torch.zeros(1, dtype=torch.int32)
    launch = count[(4,)]
    with pytest.raises(TypeError, match="`count` is missing the arguments `out_ptr`, `step`"):
        launch()
    with pytest.raises(TypeError, match="takes 2 positional arguments, but 3 were given"):
        launch(out, 1, 2)
    with pytest.raises(TypeError, match="two values for the argument `step`"):
        launch(out, 1, step=2)
    with pytest.raises(TypeError, match=r"no parameter `stop`.*did you mean `step`"):
        launch(out, stop=2)
    launch(**{"".join(["st", "ep"]): 1, "".join(["out", "_ptr"]): out})
    assert out.item() == 4


def test_more_arguments_than_are_usual():
    names = [f"a{number}" for number in range(70)]
    text = f"def kernel(out_ptr, {', '.join(names)}):\n    tl.store(out_ptr, {' + '.join(names)})\n"
    with tempfile.NamedTemporaryFile("w", suffix=".py") as file:
        file.write(text)
        file.flush()
        space = {"tl": tl}
        exec(compile(text, file.name, "exec"), space)
        kernel = tegula.jit(space["kernel"])
        out = torch.zeros(1, dtype=torch.int32)
        kernel[(1,)](out, *range(70))
        assert out.item() == sum(range(70))
        kernel[(1,)](out, *range(40), **dict.fromkeys(names[40:], 2), num_warps=2)
        assert out.item() == sum(range(40)) + 60


def test_run_and_warmup():
    out = torch.zeros(1, dtype=torch.int32)
    kernel = count.warmup(out, 5, grid=(1,))
    assert out.item() == 0 and kernel.name == "count" and "atomic" in kernel.asm["ir"]
    assert count.warmup(torch.int32, 5, grid=(1,)) is kernel
    assert count.run(out, 5, grid=(3,), warmup=False) is kernel
    assert out.item() == 15
    count.run(out, 5, grid=(3,), warmup=True)
    assert out.item() == 15


def test_calling_a_kernel_without_a_grid():
    with pytest.raises(RuntimeError, match=r"count\[grid\]"):
        count(torch.zeros(1, dtype=torch.int32), 1)


def test_hooks_run_before_each_launch():
    @tegula.jit
    def kernel(out_ptr):
        tl.store(out_ptr, 1)

    calls = []
    kernel.add_pre_run_hook(lambda *args, **kwargs: calls.append((len(args), kwargs)))
    out = torch.zeros(1)
    kernel[(1,)](out)
    kernel[(1,)](out_ptr=out)
    assert calls[0] == (1, {}) and list(calls[1][1]) == ["out_ptr"]


@tegula.jit
def spin(out_ptr, flag_ptr, n):
    total = 0
    for i in range(n):
        total = (total * 1103515245 + i) & 0xFFFF
    tl.store(out_ptr, total)


def test_other_threads_run_during_a_launch():
    out = torch.zeros(1, dtype=torch.int32)
    spin[(1,)](out, out, 10)
    done = threading.Event()
    turns = 0

    def launch():
        spin[(1,)](out, out, 300_000)
        done.set()

    thread = threading.Thread(target=launch)
    thread.start()
    while not done.is_set():
        turns += 1
    thread.join()
    # With the interpreter locked, this thread would have had its first turn after the launch.
    assert turns > 1


def test_launches_from_many_threads():
    out = torch.zeros(8, dtype=torch.int32)
    threads = [
        threading.Thread(target=lambda at=at: [count[(10,)](out[at:], 1) for _ in range(20)]) for at in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert out.tolist() == [200] * 8


@tegula.jit
def checked(x_ptr, n):
    i = tl.arange(0, 8)
    tl.device_assert(tl.load(x_ptr + i) < n, "x has to stay below n")


def test_device_assertions_are_exceptions():
    x = torch.arange(8)
    checked[(1,)](x, 8)
    with pytest.raises(tegula.KernelAssertionError, match="x has to stay below n") as caught:
        checked[(1,)](x, 5)
    assert isinstance(caught.value, RuntimeError) and "test_launch.py" in str(caught.value)


@tegula.jit
def beyond(x_ptr, out_ptr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i))


def test_debug_checks_accesses_against_the_arrays(monkeypatch):
    monkeypatch.setattr(tegula.knobs.runtime, "debug", True)
    x, out = torch.zeros(100), torch.zeros(128)
    beyond[(3,)](x, out, BLOCK=32)
    with pytest.raises(tegula.KernelAssertionError, match="x_ptr") as caught:
        beyond[(4,)](x, out, BLOCK=32)
    assert "(3, 0, 0)" in str(caught.value) and "tl.load(x_ptr + i)" in str(caught.value)
    transposed = torch.zeros(10, 10).t()
    beyond[(3,)](transposed, out, BLOCK=32)
    with pytest.raises(tegula.KernelAssertionError):
        beyond[(4,)](np.zeros(100, np.float32), out, BLOCK=32)


def test_copies_and_pickles_of_a_kernel_are_the_kernel():
    assert copy.copy(count) is count
    assert copy.deepcopy({"kernel": count})["kernel"] is count
    assert pickle.loads(pickle.dumps(count)) is count


def test_a_kernel_that_nobody_needs_is_freed():
    @tegula.jit
    def helper(x):
        return 2 * x

    @tegula.jit
    def kernel(out_ptr):
        tl.store(out_ptr, helper(2))

    out = torch.zeros(1)
    kernel[(1,)](out)
    assert out.item() == 4
    freed = weakref.ref(kernel)
    del kernel
    gc.collect()
    assert freed() is None
