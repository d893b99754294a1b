"""Runs every example with its checks, then times it beside numpy: `make demo`."""

import importlib
import os
import statistics
import time

import numpy as np

EXAMPLES = (
    "vector_add", "bias_relu", "softmax", "softmax_online", "layer_norm", "matmul", "matmul_views", "matmul_int4",
    "attention", "dropout", "cross_entropy", "row_scan", "column_sum",
)


def medians(functions, seconds=0.4):
    """The median time of each function, in seconds, taking turns so that a disturbance meets them all."""
    for function in functions:
        function()
    times = [[] for _ in functions]
    deadline = time.perf_counter() + seconds * len(functions)
    while len(times[0]) < 5 or (time.perf_counter() < deadline and len(times[0]) < 100):
        for function, taken in zip(functions, times, strict=True):
            start = time.perf_counter()
            function()
            taken.append(time.perf_counter() - start)
    return [statistics.median(taken) for taken in times]


def main():
    modules = [importlib.import_module(name) for name in EXAMPLES]
    print("Checks against float64 references")
    for module in modules:
        module.main()
    threads = os.environ.get("TEGULA_NUM_THREADS") or f"{os.cpu_count()} cores"
    print(f"\nTimes on {threads}\n{'':32}{'tegula':>18}{'numpy':>18}{'ratio':>8}")
    rng = np.random.default_rng()
    ratios = []
    for module in modules:
        timing = module.timing(rng)
        ours, numpys = medians([timing.launch, timing.numpy])
        ratios.append(numpys / ours)
        rates = "".join(f"{timing.work / seconds / 1e9:10.2f} {timing.unit:7}" for seconds in (ours, numpys))
        print(f"{timing.label:32}{rates}{ratios[-1]:8.2f}", flush=True)
    print(f"{'geometric mean':68}{statistics.geometric_mean(ratios):8.2f}")


if __name__ == "__main__":
    main()
