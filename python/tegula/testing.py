"""Timing kernels and comparing results."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from . import _native
from .timing import do_bench, do_bench_cudagraph

__all__ = [
    "Benchmark",
    "Mark",
    "assert_close",
    "compile_cold",
    "do_bench",
    "do_bench_cudagraph",
    "perf_report",
]


def compile_cold(
    kernel: Any,
    signature: dict[str, str],
    constexprs: dict[str, Any],
    num_warps: int = 4,
    num_stages: int = 3,
    target: str = "sm_90",
) -> bytes:
    """The machine code of a kernel, compiled from its source with no cache read or written; needs no GPU.

    `signature` gives the types of run-time parameters, `{"x_ptr": "*bf16", "n": "i32"}`; pointers and integers count as
    multiples of 16.
    """
    compiled = _native.compile_ahead(kernel, signature, constexprs, target, num_warps, num_stages)
    return compiled.asm["cubin"]


def _as_array(values: Any) -> Any:
    """A float64 (or exact integer) numpy array of a tensor, an array, a list or a number."""
    import numpy as np

    if hasattr(values, "detach"):
        values = values.detach().cpu()
        if values.dtype.is_floating_point:
            values = values.double()
        values = values.numpy()
    values = np.asarray(values)
    return values if values.dtype.kind in "biu" else values.astype(np.float64)


def assert_close(x: Any, y: Any, atol: Any = None, rtol: Any = None, err_msg: str = "") -> None:
    """Raises `AssertionError` unless `x` and `y` are equal within `atol + rtol * |y|`; NaN equals NaN.

    They may be tensors, arrays, lists or numbers. `atol` (1e-2 unless given) and `rtol` (0) may be functions of the
    types.
    """
    import numpy as np

    atol = atol(x.dtype) if callable(atol) else 1e-2 if atol is None else atol
    rtol = rtol(x.dtype) if callable(rtol) else 0.0 if rtol is None else rtol
    np.testing.assert_allclose(_as_array(x), _as_array(y), atol=atol, rtol=rtol, equal_nan=True, err_msg=err_msg)


@dataclass
class Benchmark:
    """A line plot: `line_arg` takes `line_vals`, one a line; arguments in `x_names` take `x_vals` along the axis."""

    x_names: list[str]
    x_vals: list[Any]
    line_arg: str
    line_vals: list[Any]
    line_names: list[str]
    plot_name: str
    args: dict[str, Any]
    xlabel: str = ""
    ylabel: str = ""
    x_log: bool = False
    y_log: bool = False
    styles: list[tuple[str, str]] | None = field(default=None)


class Mark:
    """A function with its benchmarks, which `run` executes."""

    def __init__(self, fn: Callable[..., Any], benchmarks: Benchmark | list[Benchmark]) -> None:
        self.fn = fn
        self.benchmarks = benchmarks

    def _measure(self, bench: Benchmark, kwargs: dict[str, Any]) -> list[tuple[list[Any], list[tuple[Any, Any, Any]]]]:
        """One row an x value: its coordinates, and mean, minimum and maximum of each line."""
        rows = []
        for x in bench.x_vals:
            coordinates = list(x) if isinstance(x, (list, tuple)) else [x] * len(bench.x_names)
            if len(coordinates) != len(bench.x_names):
                raise ValueError(f"{len(bench.x_names)} names on the x axis, but the value {x}")
            arguments = dict(zip(bench.x_names, coordinates, strict=True))
            results = []
            for line in bench.line_vals:
                result = self.fn(**arguments, **{bench.line_arg: line}, **bench.args, **kwargs)
                results.append(tuple(result) if isinstance(result, (list, tuple)) else (result, None, None))
            rows.append((coordinates, results))
        return rows

    def _plot(self, bench: Benchmark, rows: Any, save_path: str, show_plots: bool) -> None:
        import matplotlib.pyplot as plt

        figure, axes = plt.subplots()
        xs = [coordinates[0] for coordinates, _ in rows]
        for index, name in enumerate(bench.line_names):
            colour, style = bench.styles[index] if bench.styles else (None, None)
            mean, low, high = zip(*(results[index] for _, results in rows), strict=True)
            axes.plot(xs, mean, label=name, color=colour, ls=style)
            if None not in low and None not in high:
                axes.fill_between(xs, low, high, alpha=0.15, color=colour)
        axes.legend()
        axes.set_xlabel(bench.xlabel or bench.x_names[0])
        axes.set_ylabel(bench.ylabel)
        axes.set_xscale("log" if bench.x_log else "linear")
        axes.set_yscale("log" if bench.y_log else "linear")
        if save_path:
            figure.savefig(os.path.join(save_path, f"{bench.plot_name}.png"))
        if show_plots:
            plt.show()
        plt.close(figure)

    def run(
        self,
        show_plots: bool = False,
        print_data: bool = False,
        save_path: str = "",
        return_df: bool = False,
        **kwargs: Any,
    ) -> Any:
        """Measures every benchmark. Plots need matplotlib; `return_df` gives pandas data frames, one a benchmark."""
        single = isinstance(self.benchmarks, Benchmark)
        frames = []
        if save_path:
            os.makedirs(save_path, exist_ok=True)
        for bench in [self.benchmarks] if single else self.benchmarks:
            rows = self._measure(bench, kwargs)
            titles = [*bench.x_names, *(f"{name} ({bench.ylabel})" for name in bench.line_names)]
            table = [[*coordinates, *(result[0] for result in results)] for coordinates, results in rows]
            if (show_plots or save_path) and bench.plot_name:
                self._plot(bench, rows, save_path, show_plots)
            if print_data:
                print(f"{bench.plot_name}:\n{_as_text(titles, table)}")
            if save_path:
                _save_csv(os.path.join(save_path, f"{bench.plot_name}.csv"), titles, table)
            if return_df:
                import pandas as pd

                frames.append(pd.DataFrame(table, columns=titles))
        if return_df:
            return frames[0] if single else frames
        return None


def _as_text(titles: list[str], table: list[list[Any]]) -> str:
    cells = [titles] + [[f"{value:.6g}" if isinstance(value, float) else str(value) for value in row] for row in table]
    widths = [max(len(row[column]) for row in cells) for column in range(len(titles))]
    return "\n".join("  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells)


def _save_csv(path: str, titles: list[str], table: list[list[Any]]) -> None:
    import csv

    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(titles)
        writer.writerows(table)


def perf_report(benchmarks: Benchmark | list[Benchmark]) -> Callable[[Callable[..., Any]], Mark]:
    """Marks a function for benchmarking; call `.run()` of the result."""
    return lambda fn: Mark(fn, benchmarks)
