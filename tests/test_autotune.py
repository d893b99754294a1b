"""Autotuning and heuristics."""

import copy
import pickle
import sys
import threading
import time
import types

import pytest

import tegula
import tegula.language as tl

torch = pytest.importorskip("torch")


def timer(calls, times=None):
    """A stand-in for `do_bench`: runs each configuration twice; the times are given, or fall."""

    def bench(call, quantiles=None):
        call()
        call()
        calls.append(quantiles)
        time = times[len(calls) - 1] if times else 1.0 / len(calls)
        return [time, time, time]

    return bench


def blocks(*sizes, **options):
    return [tegula.Config({"BLOCK": size}, **options) for size in sizes]


def body(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n) + BLOCK, mask=i < n)


def grid(meta):
    return (tegula.cdiv(meta["n"], meta["BLOCK"]),)


def test_the_fastest_configuration_is_used():
    calls = []
    bench = timer(calls, [3.0, 1.0, 2.0] * 3)
    kernel = tegula.autotune(blocks(16, 32, 64), key=["n"], do_bench=bench)(tegula.jit(body))
    x, out = torch.arange(100.0), torch.zeros(100)
    kernel[grid](x, out, 100)
    assert torch.equal(out, x + 32) and len(calls) == 3 and calls[0] == (0.5, 0.2, 0.8)
    assert kernel.best_config.kwargs == {"BLOCK": 32}
    kernel[grid](x, out, 100)
    assert len(calls) == 3
    kernel[grid](x, out, 90)
    assert len(calls) == 6, "another value of a key"
    kernel[grid](x.double(), out.double(), 90)
    assert len(calls) == 9, "another type"
    assert len(kernel.cache) == 3


def test_the_default_timer():
    kernel = tegula.autotune(blocks(16, 64), key=["n"], warmup=1, rep=2)(tegula.jit(body))
    x, out = torch.arange(100.0), torch.zeros(100)
    kernel[grid](x, out, n=100)
    size = kernel.best_config.kwargs["BLOCK"]
    assert torch.equal(out, x + size)
    assert set(kernel.configs_timings) == set(kernel.configs)


def test_one_configuration_needs_no_timing():
    calls = []
    kernel = tegula.autotune(blocks(16, num_warps=2), key=[], do_bench=timer(calls))(tegula.jit(body))
    x, out = torch.arange(100.0), torch.zeros(100)
    kernel[grid](x, out, 100)
    assert torch.equal(out, x + 16) and not calls


def test_printing(monkeypatch, capsys):
    monkeypatch.setenv("TRITON_PRINT_AUTOTUNING", "1")
    kernel = tegula.autotune(blocks(16, 32), key=["n"], do_bench=timer([]))(tegula.jit(body))
    x, out = torch.arange(100.0), torch.zeros(100)
    kernel[grid](x, out, 100)
    said = capsys.readouterr().out
    assert "Autotuning kernel body with config BLOCK: 16, num_warps: 4" in said
    assert "best config selected: BLOCK: 32" in said
    kernel[grid](x, out, 100)
    assert capsys.readouterr().out == ""


def accumulate(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out_ptr + i, tl.load(x_ptr + i, mask=i < n), mask=i < n)


@pytest.mark.parametrize("as_numpy", [False, True])
def test_reset_to_zero(as_numpy):
    kernel = tegula.autotune(blocks(16, 32), key=["n"], reset_to_zero=["out_ptr"], do_bench=timer([]))(
        tegula.jit(accumulate)
    )
    x, out = torch.arange(100.0), torch.full((100,), 5.0)
    kernel[grid](x, out.numpy() if as_numpy else out, 100)
    assert torch.equal(out, x)


@pytest.mark.parametrize("as_numpy", [False, True])
def test_restore_value(as_numpy):
    kernel = tegula.autotune(blocks(16, 32), key=["n"], restore_value=["out_ptr"], do_bench=timer([]))(
        tegula.jit(accumulate)
    )
    x, out = torch.arange(100.0), torch.full((100,), 5.0)
    kernel[grid](x, out.numpy() if as_numpy else out, 100)
    assert torch.equal(out, x + 5)


def test_hooks():
    events = []
    configs = [tegula.Config({"BLOCK": 16}, pre_hook=lambda args: events.append(("config", args["BLOCK"])))]
    configs += blocks(32)
    kernel = tegula.autotune(
        configs,
        key=["n"],
        pre_hook=lambda args, reset_only=False: events.append(("pre", args["BLOCK"], reset_only)),
        post_hook=lambda args, exception: events.append(("post", args["BLOCK"], exception)),
        do_bench=timer([], [1.0, 2.0]),
    )(tegula.jit(body))
    kernel[grid](torch.arange(100.0), torch.zeros(100), 100)
    once = [("pre", 16, False), ("post", 16, None)]
    other = [("pre", 32, False), ("post", 32, None)]
    assert events == [("config", 16), *once] * 2 + other * 2 + [("pre", 16, True), ("config", 16)]


def test_early_pruning():
    calls = []

    def prune(configs, named_args, **kwargs):
        assert named_args["n"] == 100 and "grid" in kwargs
        return [config for config in configs if config.kwargs["BLOCK"] > 16]

    kernel = tegula.autotune(
        blocks(16, 32, 64), key=["n"], prune_configs_by={"early_config_prune": prune}, do_bench=timer(calls)
    )(tegula.jit(body))
    kernel[grid](torch.arange(100.0), torch.zeros(100), 100)
    assert len(calls) == 2
    nothing = tegula.autotune(blocks(16, 32), key=[], prune_configs_by={"early_config_prune": lambda *_, **__: []})
    with pytest.raises(tegula.AutotunerError, match="`early_config_prune` left no configuration"):
        nothing(tegula.jit(body))[grid](torch.arange(100.0), torch.zeros(100), 100)


@pytest.mark.parametrize("top_k, timed", [(1, 1), (2, 2), (0.5, 2), (9, 4)])
def test_performance_models(top_k, timed):
    calls = []
    pruning = {"perf_model": lambda BLOCK, num_warps, n, **_: -BLOCK * num_warps - n, "top_k": top_k}
    kernel = tegula.autotune(blocks(8, 16, 32, 64), key=["n"], prune_configs_by=pruning, do_bench=timer(calls))(
        tegula.jit(body)
    )
    kernel[grid](torch.arange(100.0), torch.zeros(100), 100)
    assert len(calls) == timed
    assert kernel.best_config.kwargs["BLOCK"] == {1: 64, 2: 32, 4: 64}[timed]


def needs_a_multiple_of_32(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK % 32 == 0, "BLOCK is a multiple of 32")
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n) + BLOCK, mask=i < n)


def test_configurations_that_do_not_compile_are_passed_over():
    x, out = torch.arange(100.0), torch.zeros(100)
    kernel = tegula.autotune(blocks(16, 32, 48), key=["n"], do_bench=timer([]))(tegula.jit(needs_a_multiple_of_32))
    kernel[grid](x, out, 100)
    assert torch.equal(out, x + 32)
    kernel = tegula.autotune(blocks(16, 48), key=["n"], do_bench=timer([]))(tegula.jit(needs_a_multiple_of_32))
    with pytest.raises(tegula.CompilationError, match="BLOCK is a multiple of 32"):
        kernel[grid](x, out, 100)


class Staged(tegula.runtime.KernelInterface):
    """A kernel that takes a known time to compile, and notes what happens to it."""

    def __init__(self, delays):
        self.fn = body
        self.arg_names = ["x_ptr", "out_ptr", "n", "BLOCK"]
        self.delays = delays
        self.events = []
        self.lock = threading.Lock()

    def note(self, what, block):
        with self.lock:
            self.events.append((what, block))

    def run(self, *args, grid, warmup=False, BLOCK, **options):
        if not warmup:
            return self.note("run", BLOCK)
        time.sleep(self.delays[BLOCK])
        if BLOCK == 48:
            raise tegula.OutOfResources(300_000, 232_448, "shared memory")
        return self.note("compiled", BLOCK)


def test_configurations_compile_while_others_are_timed(monkeypatch):
    monkeypatch.setattr(tegula.runtime.autotuner, "_is_on_gpu", lambda argument: True)
    monkeypatch.setattr("os.cpu_count", lambda: 5)
    kernel = Staged({16: 0.4, 32: 0.0, 48: 0.1, 64: 0.2})

    def bench(call, quantiles):
        call()
        return [float(kernel.events[-1][1])] * 3

    tuned = tegula.autotune(blocks(16, 32, 48, 64), key=["n"], do_bench=bench)(kernel)
    tuned[(1,)](torch.zeros(1), torch.zeros(1), 1)
    ran = [block for what, block in kernel.events if what == "run"]
    assert ran == [32, 64, 16, 16], "those that are ready are timed first; the best is launched"
    assert kernel.events.index(("run", 32)) < kernel.events.index(("compiled", 16))
    assert [config.kwargs["BLOCK"] for config in tuned.configs_timings] == [16, 32, 64]


pickled = tegula.autotune(blocks(16, 32), key=["n"])(tegula.jit(body))


def test_copies_and_pickles_are_the_kernel_itself(monkeypatch):
    monkeypatch.setattr(sys.modules[__name__], "body", pickled)
    assert copy.copy(pickled) is pickled and copy.deepcopy([pickled])[0] is pickled
    assert pickle.loads(pickle.dumps(pickled)) is pickled
    assert pickled.__name__ == "body"


def test_one_of_several_threads_tunes():
    began, timed = threading.Barrier(4), []

    def bench(call, quantiles):
        call()
        timed.append(threading.get_ident())
        time.sleep(0.02)
        return [1.0, 1.0, 1.0]

    kernel = tegula.autotune(blocks(16, 32), key=["n"], do_bench=bench)(tegula.jit(body))
    outs = [torch.zeros(100) for _ in range(4)]

    def work(out):
        began.wait()
        kernel[grid](torch.arange(100.0), out, 100)

    threads = [threading.Thread(target=work, args=(out,)) for out in outs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(timed) == 2 and len(set(timed)) == 1
    assert all(torch.equal(out, torch.arange(100.0) + 16) for out in outs)


def test_what_is_wrong_with_every_configuration_is_said(monkeypatch):
    monkeypatch.setattr(tegula.runtime.autotuner, "_is_on_gpu", lambda argument: True)
    tuned = tegula.autotune(blocks(48, 48), key=["n"], do_bench=timer([]))(Staged({48: 0.0}))
    with pytest.raises(tegula.OutOfResources, match="needs 300000 bytes of shared memory, the hardware has 232448"):
        tuned[(1,)](torch.zeros(1), torch.zeros(1), 1)


def test_a_bar_shows_what_is_done(monkeypatch):
    made = []

    class Bar:
        def __init__(self, **settings):
            self.settings, self.done, self.open = settings, 0, True
            made.append(self)

        def __enter__(self):
            return self

        def __exit__(self, *exception):
            self.open = False

        def update(self):
            self.done += 1

    monkeypatch.setitem(sys.modules, "tqdm", types.SimpleNamespace(tqdm=Bar))
    kernel = tegula.autotune(blocks(16, 32, 48), key=["n"], do_bench=timer([]))(tegula.jit(needs_a_multiple_of_32))
    kernel[grid](torch.arange(100.0), torch.zeros(100), 100)
    (bar,) = made
    assert (bar.done, bar.open) == (3, False)
    title = "autotuning needs_a_multiple_of_32"
    assert bar.settings == {"total": 3, "desc": title, "delay": 1.0, "disable": None, "leave": False}


def test_slow_configurations_are_soon_given_up():
    calls = {16: 0, 64: 0}

    def sleeping(*args, grid, warmup=False, BLOCK, **options):
        calls[BLOCK] += 1
        time.sleep({16: 0.001, 64: 0.004}[BLOCK])

    kernel = Staged({})
    kernel.run = sleeping
    tuned = tegula.autotune(blocks(16, 64), key=["n"], warmup=1, rep=100)(kernel)
    tuned[(1,)](torch.zeros(1), torch.zeros(1), 1)
    assert tuned.best_config.kwargs == {"BLOCK": 16}
    assert calls[64] <= 12 < calls[16], calls


def test_arguments_chosen_twice():
    kernel = tegula.autotune(blocks(16, 32), key=["n"], do_bench=timer([]))(tegula.jit(body))
    with pytest.raises(ValueError, match="BLOCK of `body` is chosen by the autotuner"):
        kernel[grid](torch.arange(100.0), torch.zeros(100), 100, BLOCK=16)


def test_keys_that_are_no_parameters():
    x, out = torch.arange(100.0), torch.zeros(100)
    with pytest.warns(UserWarning, match="`m` is no parameter of `body`") as caught:
        kernel = tegula.autotune(blocks(16, 32), key=["m", "n"])(tegula.jit(body))
    assert caught[0].filename == __file__
    kernel[grid](x, out, 100)
    assert len(kernel.cache) == 1


def test_heuristics():
    @tegula.heuristics({"BLOCK": lambda args: tegula.next_power_of_2(args["n"])})
    @tegula.jit
    def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
        i = tl.arange(0, BLOCK)
        tl.store(out_ptr + i, tl.load(x_ptr + i, mask=i < n) + BLOCK, mask=i < n)

    x, out = torch.arange(100.0), torch.zeros(100)
    kernel[(1,)](x, out, 100)
    assert torch.equal(out, x + 128)


@pytest.mark.parametrize("heuristics_outside", [False, True])
def test_heuristics_and_autotuning_in_either_order(heuristics_outside):
    @tegula.jit
    def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        mask = None if EVEN else i < n
        tl.store(out_ptr + i, tl.load(x_ptr + i, mask=mask) + EVEN, mask=mask)

    tune = tegula.autotune(blocks(16, 32), key=["n"], do_bench=timer([]))
    if heuristics_outside:
        # The heuristic does not see what the autotuner chooses within.
        kernel = tegula.heuristics({"EVEN": lambda args: args["n"] % 32 == 0})(tune(kernel))
    else:
        kernel = tune(tegula.heuristics({"EVEN": lambda args: args["n"] % args["BLOCK"] == 0})(kernel))
    for n in (64, 50):
        x, out = torch.arange(64.0), torch.zeros(64)
        kernel[grid](x, out, n)
        assert torch.equal(out[:n], x[:n] + (n == 64)) and not out[n:].any()


def test_warmup_compiles_every_configuration():
    kernel = tegula.autotune(blocks(16, 32, 64), key=["n"])(tegula.jit(body))
    compiled = kernel.warmup(torch.float32, torch.float32, 100, grid=(1,))
    assert len(compiled) == 3 and len(kernel.fn.compiled_kernels()) == 3


def test_configurations_compare_by_value():
    assert tegula.Config({"A": 1}) == tegula.Config({"A": 1}) != tegula.Config({"A": 1}, num_warps=8)
    assert len({tegula.Config({"A": 1}), tegula.Config({"A": 1})}) == 1
    assert str(tegula.Config({"A": 1}, maxnreg=64)) == "A: 1, num_warps: 4, num_ctas: 1, num_stages: 3, maxnreg: 64"


def test_results_are_kept_on_disk(tmp_path, monkeypatch):
    monkeypatch.setenv("TEGULA_CACHE_DIR", str(tmp_path))
    x, out = torch.arange(100.0), torch.zeros(100)

    def tuned(calls, configs, n=100):
        bench = timer(calls, [3.0, 1.0, 2.0])
        kernel = tegula.autotune(configs, key=["n"], do_bench=bench, cache_results=True)(tegula.jit(body))
        kernel[grid](x, out, n)
        return kernel.best_config.kwargs["BLOCK"]

    first, again, other, changed = [], [], [], []
    assert tuned(first, blocks(16, 32, 64)) == 32 and len(first) == 3
    assert tuned(again, blocks(16, 32, 64)) == 32 and again == []
    assert torch.equal(out, x + 32)
    assert tuned(other, blocks(16, 32, 64), n=90) == 32 and len(other) == 3
    assert tuned(changed, blocks(16, 32, 128)) == 32 and len(changed) == 3
    for path in tmp_path.rglob("*.json"):
        path.write_text(path.read_text()[:-3])
    assert tuned(again, blocks(16, 32, 64)) == 32 and len(again) == 3
