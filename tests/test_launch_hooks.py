"""Functions that profilers have called around launches."""

import pytest

import tegula
import tegula.language as tl
from tegula import knobs

torch = pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def without_hooks_afterwards():
    yield
    knobs.runtime.launch_enter_hook = None
    knobs.runtime.launch_exit_hook = None


def facts(grid, metadata, arguments):
    return {"name": f"double of {arguments['n']}", "grid": grid, "warps": metadata.num_warps}


def double(x_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x_ptr + i, tl.load(x_ptr + i, mask=i < n) * 2, mask=i < n)


def test_hooks_are_called_around_each_launch():
    kernel = tegula.jit(double)
    x, seen = torch.ones(100), []
    hooks = {what: (lambda metadata, what=what: seen.append((what, x[0].item()))) for what in ("a", "b", "c", "d")}
    knobs.runtime.launch_enter_hook.add(hooks["a"])
    knobs.runtime.launch_enter_hook.add(hooks["b"])
    knobs.runtime.launch_enter_hook.add(hooks["a"])
    knobs.runtime.launch_exit_hook.add(hooks["c"])
    knobs.runtime.launch_exit_hook.add(hooks["d"])
    kernel[(2,)](x, 100, BLOCK=64)
    assert seen == [("a", 1.0), ("b", 1.0), ("d", 2.0), ("c", 2.0)]
    knobs.runtime.launch_enter_hook.remove(hooks["b"])
    knobs.runtime.launch_exit_hook.remove(hooks["c"])
    knobs.runtime.launch_exit_hook.remove(hooks["d"])
    seen.clear()
    kernel[(2,)](x, 100, BLOCK=64)
    assert seen == [("a", 2.0)]
    knobs.runtime.launch_enter_hook = None
    kernel[(2,)](x, 100, BLOCK=64)
    assert len(seen) == 1


def test_what_hooks_are_told():
    kernel = tegula.jit(double, launch_metadata=facts)
    plain = tegula.jit(double)
    seen = []
    knobs.runtime.launch_enter_hook = seen.append
    kernel[(3, 1)](torch.ones(100), n=100, BLOCK=64, num_warps=8)
    plain[(2,)](torch.ones(100), 100, BLOCK=64)
    first, second = (metadata.get() for metadata in seen)
    assert first == {"name": "double of 100", "grid": (3, 1, 1), "warps": 8, "function": 0, "stream": 0}
    assert second == {"name": "double", "function": 0, "stream": 0}


def test_what_a_hook_raises_stops_the_launch():
    def refuse(metadata):
        raise KeyError("no launches now")

    x = torch.ones(100)
    knobs.runtime.launch_enter_hook.add(refuse)
    with pytest.raises(KeyError, match="no launches now"):
        tegula.jit(double)[(2,)](x, 100, BLOCK=64)
    assert torch.equal(x, torch.ones(100))


def test_compiling_alone_calls_no_hooks():
    knobs.runtime.launch_enter_hook.add(pytest.fail)
    tegula.jit(double).warmup(torch.ones(1), 100, BLOCK=64)
