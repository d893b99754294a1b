"""How long calls take: `do_bench`, by the clock on the CPU and by events on a GPU."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from typing import Any

from .runtime.driver import driver

#: Bytes written before each timed call on a GPU: more than any second-level cache holds, so that none of the
#: call's data is there.
_FLUSHED_BYTES = 256 * 1024 * 1024

#: Calls from which the duration of one is estimated.
_ESTIMATING_CALLS = 5

#: The part of all timed calls after which those that are too slow are given up.
_TRIAL = 0.2


def _quantile(sorted_times: list[float], q: float) -> float:
    """The quantile of sorted values, interpolated linearly between neighbours."""
    if not 0 <= q <= 1:
        raise ValueError(f"a quantile lies from 0 to 1, but {q} does not")
    place = q * (len(sorted_times) - 1)
    low = math.floor(place)
    high = min(low + 1, len(sorted_times) - 1)
    return sorted_times[low] + (sorted_times[high] - sorted_times[low]) * (place - low)


def _summarise(times: list[float], quantiles: Any, return_mode: str) -> Any:
    times = sorted(times)
    if quantiles is not None:
        values = [_quantile(times, q) for q in quantiles]
        return values[0] if len(values) == 1 else values
    if return_mode == "all":
        return times
    if return_mode == "min":
        return times[0]
    if return_mode == "max":
        return times[-1]
    return math.fsum(times) / len(times) if return_mode == "mean" else _quantile(times, 0.5)


def _drop_gradients(tensors: Iterable[Any] | None) -> None:
    for tensor in tensors or ():
        tensor.grad = None


def _unless_hopeless(times: Callable[[int], list[float]], calls: int, hopeless: float | None) -> list[float]:
    """`times(calls)`; of fewer calls, if the fastest of them takes longer than `hopeless`."""
    if hopeless is None:
        return times(calls)
    trial = max(1, int(_TRIAL * calls))
    found = times(trial)
    if min(found) > hopeless or trial == calls:
        return found
    return found + times(calls - trial)


def _times_by_clock(
    fn: Callable[[], Any], warmup: float, rep: float, grad_to_none: Any, hopeless: float | None
) -> list[float]:
    """Milliseconds of each call, for calls that return when their work is done."""

    def timed() -> float:
        _drop_gradients(grad_to_none)
        began = time.perf_counter()
        fn()
        return (time.perf_counter() - began) * 1e3

    fn()
    estimate = max(min(timed() for _ in range(3)), 1e-6)
    for _ in range(int(warmup / estimate)):
        timed()
    return _unless_hopeless(lambda calls: [timed() for _ in range(calls)], max(1, int(rep / estimate)), hopeless)


def _times_by_events(
    fn: Callable[[], Any], warmup: float, rep: float, grad_to_none: Any, hopeless: float | None
) -> list[float]:
    """Milliseconds on the GPU of each call, every one of which finds none of its data in the second-level cache."""
    import torch

    flushed = torch.empty(_FLUSHED_BYTES // 4, dtype=torch.int32, device="cuda")

    def event() -> Any:
        return torch.cuda.Event(enable_timing=True)

    fn()
    torch.cuda.synchronize()
    start, end = event(), event()
    start.record()
    for _ in range(_ESTIMATING_CALLS):
        flushed.zero_()
        fn()
    end.record()
    torch.cuda.synchronize()
    estimate = max(start.elapsed_time(end) / _ESTIMATING_CALLS, 1e-6)
    for _ in range(max(1, int(warmup / estimate))):
        fn()

    def times(calls: int) -> list[float]:
        pairs = [(event(), event()) for _ in range(calls)]
        for start, end in pairs:
            _drop_gradients(grad_to_none)
            flushed.zero_()
            start.record()
            fn()
            end.record()
        torch.cuda.synchronize()
        return [start.elapsed_time(end) for start, end in pairs]

    return _unless_hopeless(times, max(1, int(rep / estimate)), hopeless)


def do_bench(
    fn: Callable[[], Any],
    warmup: float = 25,
    rep: float = 100,
    grad_to_none: Any = None,
    quantiles: Any = None,
    return_mode: str = "mean",
    on_gpu: bool | None = None,
    hopeless: float | None = None,
) -> Any:
    """How long a call of `fn` takes, in milliseconds.

    It is called for `warmup` milliseconds to warm caches and for `rep` milliseconds to be timed, each at least once.
    `grad_to_none` are tensors whose gradients are dropped before each call. The result is a list of the `quantiles`, or
    what `return_mode` says: `"min"`, `"max"`, `"mean"`, `"median"` or `"all"` times. On a GPU, the time between events
    around the call is taken, with none of its data in the second-level cache; `on_gpu` is for programs that use both. A
    call that takes longer than `hopeless` milliseconds at its best is timed for a fifth of `rep` only.
    """
    if return_mode not in ("min", "max", "mean", "median", "all"):
        raise ValueError(f"`return_mode` is min, max, mean, median or all, not {return_mode!r}")
    if on_gpu is None:
        on_gpu = driver.active.get_current_target().backend == "cuda"
    measure = _times_by_events if on_gpu else _times_by_clock
    return _summarise(measure(fn, warmup, rep, grad_to_none, hopeless), quantiles, return_mode)


def do_bench_cudagraph(
    fn: Callable[[], Any],
    rep: float = 20,
    grad_to_none: Any = None,
    quantiles: Any = None,
    return_mode: str = "mean",
) -> Any:
    """How long a call of `fn` takes on the GPU, in milliseconds, without the host's part: calls are put in a graph.

    The calls of a graph run back to back, so that they find each other's data in the caches.
    """
    import torch

    if return_mode not in ("min", "max", "mean", "median", "all"):
        raise ValueError(f"`return_mode` is min, max, mean, median or all, not {return_mode!r}")
    with torch.cuda.stream(torch.cuda.Stream()):
        fn()
        _drop_gradients(grad_to_none)
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        for _ in range(_ESTIMATING_CALLS):
            fn()
        end.record()
        torch.cuda.synchronize()
        calls = max(1, int(rep * _ESTIMATING_CALLS / max(start.elapsed_time(end), 1e-6)))
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(calls):
                _drop_gradients(grad_to_none)
                fn()
        torch.cuda.synchronize()
        times = []
        for _ in range(10):
            start.record()
            graph.replay()
            end.record()
            torch.cuda.synchronize()
            times.append(start.elapsed_time(end) / calls)
    return _summarise(times, quantiles, return_mode)
