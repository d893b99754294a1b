"""Autotuning: which configuration of a kernel is the fastest here; and arguments computed from others."""

from __future__ import annotations

import builtins
import functools
import inspect
import os
import threading
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from functools import cached_property
from typing import Any

from .. import knobs
from ..errors import AutotunerError, CompilationError, OutOfResources, TegulaError
from . import tuning_cache
from .driver import driver
from .jit import KernelInterface
from .progress import progress

#: So many times the best median, at its fastest, is too slow for a configuration.
_HOPELESS = 1.1


class Config:
    """One configuration that the autotuner may choose: meta-parameters, and how the kernel is spread over the hardware.

    `pre_hook` is called with all arguments by name before each launch of this configuration.
    """

    def __init__(
        self,
        kwargs: dict[str, Any],
        num_warps: int = 4,
        num_stages: int = 3,
        num_ctas: int = 1,
        maxnreg: int | None = None,
        pre_hook: Callable[[dict[str, Any]], Any] | None = None,
        ir_override: str | None = None,
    ) -> None:
        self.kwargs = kwargs
        self.num_warps = num_warps
        self.num_stages = num_stages
        self.num_ctas = num_ctas
        self.maxnreg = maxnreg
        self.pre_hook = pre_hook
        self.ir_override = ir_override

    def all_kwargs(self) -> dict[str, Any]:
        """The keyword arguments of a launch with this configuration."""
        options = {
            name: getattr(self, name) for name in ("num_warps", "num_ctas", "num_stages", "maxnreg", "ir_override")
        }
        return {**self.kwargs, **{name: value for name, value in options.items() if value is not None}}

    def __str__(self) -> str:
        parts = [f"{name}: {value}" for name, value in self.kwargs.items()]
        parts += [f"{name}: {getattr(self, name)}" for name in ("num_warps", "num_ctas", "num_stages", "maxnreg")]
        return ", ".join(parts)

    def __repr__(self) -> str:
        return f"Config({self})"

    def _identity(self) -> tuple[Any, ...]:
        return (*self.all_kwargs().items(), self.pre_hook)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Config) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())


def _copy_of(array: Any) -> Any:
    """A copy of a tensor (`clone`) or of an array (`copy`)."""
    return array.clone() if hasattr(array, "clone") else array.copy()


def _overwrite(array: Any, saved: Any) -> None:
    """Writes a saved copy back into a tensor (`copy_`) or an array."""
    if hasattr(array, "copy_"):
        array.copy_(saved)
    else:
        array[...] = saved


def _is_on_gpu(argument: Any) -> bool:
    """Whether an argument is an array on a CUDA device, or describes one."""
    argument = getattr(argument, "base", argument)
    return bool(getattr(argument, "is_cuda", False)) or hasattr(argument, "__cuda_array_interface__")


def _median(timing: Any) -> float:
    """The first of the quantiles; a `do_bench` of the user's may return one number."""
    return float(timing[0] if isinstance(timing, (list, tuple)) else timing)


def _zero(array: Any) -> None:
    if hasattr(array, "zero_"):
        array.zero_()
    else:
        array[...] = 0


class Autotuner(KernelInterface):
    """A kernel with several configurations. The first launch for a key times them all; later ones use the best."""

    def __init__(
        self,
        fn: Any,
        arg_names: list[str],
        configs: list[Config],
        key: list[str],
        reset_to_zero: Iterable[str] | None,
        restore_value: Iterable[str] | None,
        pre_hook: Callable[..., Any] | None = None,
        post_hook: Callable[..., Any] | None = None,
        prune_configs_by: dict[str, Any] | None = None,
        warmup: int | None = None,
        rep: int | None = None,
        use_cuda_graph: bool = False,
        do_bench: Callable[..., Any] | None = None,
        cache_results: bool = False,
    ) -> None:
        self.fn = fn
        self.arg_names = arg_names
        self.configs = list(configs) or [Config({})]
        self.keys = list(key)
        for name in self.keys:
            if name not in arg_names:
                # Triton ignores it, and kernels that are in use have such keys.
                warnings.warn(
                    f"the autotuning key `{name}` is no parameter of `{self.base_fn.__name__}` and is ignored; "
                    f"its parameters are {', '.join(arg_names)}",
                    stacklevel=3,
                )
        self.reset_to_zero = list(reset_to_zero or ())
        self.restore_value = list(restore_value or ())
        self.user_defined_pre_hook = pre_hook is not None
        self.user_defined_post_hook = post_hook is not None
        self._pre_hook = pre_hook
        self._post_hook = post_hook
        pruning = prune_configs_by or {}
        self.perf_model = pruning.get("perf_model")
        self.configs_top_k = pruning.get("top_k", 1.0)
        self.early_config_prune = pruning.get("early_config_prune")
        self.num_warmups = 25 if warmup is None else warmup
        self.num_reps = 100 if rep is None else rep
        self.use_cuda_graph = use_cuda_graph
        self.cache_results = cache_results
        self._do_bench = do_bench
        #: The best configuration by key.
        self.cache: dict[tuple[Any, ...], Config] = {}
        #: The configuration of the last launch.
        self.best_config: Config | None = None
        #: Median and quantiles of each configuration in the last tuning, and how long that took.
        self.configs_timings: dict[Config, Any] = {}
        self.bench_time = 0.0
        self.nargs: dict[str, Any] | None = None
        # A hook may launch the kernel that is being tuned.
        self._tuning = threading.RLock()
        functools.update_wrapper(self, self.base_fn, updated=())
        #: Milliseconds beyond which a configuration cannot become the best of the current tuning.
        self._hopeless: float | None = None

    @cached_property
    def base_fn(self) -> Any:
        """The Python function beneath all decorators."""
        fn = self.fn
        while not inspect.isfunction(fn):
            fn = fn.fn
        return fn

    def __reduce__(self) -> str:
        """As for kernels: a copy is the kernel itself, a pickle is its name."""
        return self.base_fn.__qualname__

    @cached_property
    def do_bench(self) -> Callable[..., Any]:
        """What times a configuration: `do_bench(call, quantiles=...)`."""
        if self._do_bench is not None:
            return self._do_bench

        def bench(call: Callable[[], Any], quantiles: Any) -> Any:
            from ..timing import do_bench, do_bench_cudagraph

            on_gpu = any(_is_on_gpu(argument) for argument in (self.nargs or {}).values())
            if on_gpu and self.use_cuda_graph:
                return do_bench_cudagraph(call, rep=self.num_reps, quantiles=quantiles)
            return do_bench(
                call, self.num_warmups, self.num_reps, quantiles=quantiles, on_gpu=on_gpu, hopeless=self._hopeless
            )

        return bench

    def pre_hook(self, arguments: dict[str, Any], reset_only: bool = False) -> dict[str, Any]:
        """Prepares the arguments for a run; returns what `post_hook` puts back."""
        if self._pre_hook is not None:
            self._pre_hook(arguments, **({"reset_only": True} if reset_only else {}))
            return {}
        for name in self.reset_to_zero:
            _zero(arguments[name])
        return {} if reset_only else {name: _copy_of(arguments[name]) for name in self.restore_value}

    def post_hook(self, arguments: dict[str, Any], exception: Exception | None, saved: dict[str, Any]) -> None:
        """Undoes what a run did to the arguments."""
        if self._post_hook is not None:
            self._post_hook(arguments, exception=exception)
            return
        for name, copy in saved.items():
            _overwrite(arguments[name], copy)

    def _check_meta(self, meta: dict[str, Any], configs: list[Config]) -> None:
        """Refuses arguments that configurations have, too."""
        for config in configs:
            conflicts = meta.keys() & config.kwargs.keys()
            if conflicts:
                raise ValueError(
                    f"{', '.join(sorted(conflicts))} of `{self.base_fn.__name__}` is chosen by the autotuner, "
                    "and given by the call too"
                )

    def _bench(self, args: tuple[Any, ...], config: Config, meta: dict[str, Any]) -> Any:
        """How long the kernel takes with a configuration."""
        current = {**meta, **config.all_kwargs()}
        arguments = {**self._named(args), **current}

        def call() -> None:
            if config.pre_hook is not None:
                config.pre_hook(arguments)
            saved = self.pre_hook(arguments)
            try:
                self.fn.run(*args, **current)
            except Exception as error:
                self.post_hook(arguments, error, saved)
                raise
            self.post_hook(arguments, None, saved)

        return self.do_bench(call, quantiles=(0.5, 0.2, 0.8))

    def _compiled(
        self, args: tuple[Any, ...], kwargs: dict[str, Any], configs: list[Config]
    ) -> Iterator[tuple[Config, Exception | None]]:
        """The configurations as they are ready to be timed, each with the reason if it cannot be.

        On a GPU they are compiled side by side, and those that are ready are timed meanwhile. A configuration whose
        `pre_hook` may change the arguments is compiled when it is timed.
        """
        if not any(_is_on_gpu(argument) for argument in (self.nargs or {}).values()):
            yield from ((config, None) for config in configs)
            return
        meta = {name: value for name, value in kwargs.items() if name not in ("grid", "warmup")}
        # One core is for whoever times.
        with ThreadPoolExecutor(max_workers=max(1, (os.cpu_count() or 1) - 1)) as pool:
            ahead = {
                pool.submit(self.fn.warmup, *args, grid=None, **{**meta, **config.all_kwargs()}): config
                for config in configs
                if config.pre_hook is None
            }
            try:
                yield from ((config, None) for config in configs if config.pre_hook is not None)
                for future in as_completed(ahead):
                    error = future.exception()
                    if error is not None and not isinstance(error, TegulaError):
                        raise error
                    yield ahead[future], error
            finally:
                pool.shutdown(wait=False, cancel_futures=True)

    def _tune(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Config:
        """Times the configurations; the best one."""
        name, verbose = self.base_fn.__name__, knobs.autotuning.print
        began = time.perf_counter()
        timings: dict[Config, Any] = {}
        failure: Exception | None = None
        configs = self.prune_configs(kwargs)
        self._check_meta(kwargs, configs)
        self._hopeless = None
        with progress(f"autotuning {name}", len(configs)) as advance:
            for config, refusal in self._compiled(args, kwargs, configs):
                if verbose:
                    print(f"Autotuning kernel {name} with config {config}")
                try:
                    if refusal is not None:
                        raise refusal
                    timings[config] = self._bench(args, config, kwargs)
                    median = builtins.min(_median(one) for one in timings.values())
                    self._hopeless = median * _HOPELESS
                except (CompilationError, OutOfResources) as error:
                    failure = error
                    if verbose:
                        print(f"Autotuning failed with {error}")
                advance()
        if not timings:
            if failure is None:
                raise AutotunerError(f"`{name}` has no configuration to choose from")
            raise failure
        self.bench_time = time.perf_counter() - began
        # Of two that are equally fast, the one that is listed first.
        self.configs_timings = {config: timings[config] for config in configs if config in timings}
        best = builtins.min(self.configs_timings, key=self.configs_timings.__getitem__)
        self.pre_hook({**self._named(args), **kwargs, **best.all_kwargs()}, reset_only=True)
        return best

    def _kept_or_tuned(self, key: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Config:
        """The best configuration by what is known on disk, if results are kept there, or by timing."""
        kept = None
        # What a hook does is not known to the name of an entry.
        if (self.cache_results or knobs.autotuning.cache) and all(config.pre_hook is None for config in self.configs):
            kernel = self.fn
            while not hasattr(kernel, "raw_src"):
                kernel = kernel.fn
            active = driver.active
            device = f"{active.get_current_target()} {active.utils.get_device_properties(active.get_current_device())}"
            kept = tuning_cache.place(kernel, self.configs, key, device)
        timings = tuning_cache.read(kept, self.configs) if kept is not None else None
        if timings is not None:
            self.configs_timings, self.bench_time = timings, 0.0
            return builtins.min(timings, key=timings.__getitem__)
        best = self._tune(args, kwargs)
        if kept is not None:
            tuning_cache.write(kept, self.configs, self.configs_timings)
        return best

    def _named(self, args: tuple[Any, ...]) -> dict[str, Any]:
        return dict(zip(self.arg_names, args, strict=False))

    def _key(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        """What the best configuration may depend on: the arguments named by `key`, and the types of all arrays."""
        given = {name: value for name, value in {**self._named(args), **kwargs}.items() if name in self.arg_names}
        values = [given[name] for name in self.keys if name in given]
        types = [str(value.dtype) for value in given.values() if hasattr(value, "dtype")]
        return (*values, *types)

    def _chosen(self, key: tuple[Any, ...], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Config:
        """The best configuration for a key that this process has not met: of the threads that meet it, one tunes."""
        with self._tuning:
            config = self.cache.get(key)
            if config is None:
                self.nargs = self._named(args)
                config = self.cache[key] = self._kept_or_tuned(key, args, kwargs)
                if knobs.autotuning.print:
                    print(
                        f"Triton autotuning for function {self.base_fn.__name__},\nwith key as {key},\n"
                        f"finished after {self.bench_time:.2f}s,\nbest config selected: {config};"
                    )
            return config

    def run(self, *args: Any, **kwargs: Any) -> Any:
        config = self.configs[0]
        if len(self.configs) > 1:
            key = self._key(args, kwargs)
            config = self.cache.get(key) or self._chosen(key, args, kwargs)
        self.best_config = config
        if config.pre_hook is not None:
            config.pre_hook({**self._named(args), **kwargs, **config.all_kwargs()})
        return self.fn.run(*args, **kwargs, **config.all_kwargs())

    def prune_configs(self, kwargs: dict[str, Any]) -> list[Config]:
        """The configurations that are worth timing."""
        configs = self.configs
        named = self.nargs or {}
        if self.early_config_prune is not None:
            configs = self.early_config_prune(configs, named, **kwargs)
            if not configs:
                raise AutotunerError(
                    f"`early_config_prune` left no configuration of `{self.base_fn.__name__}`; it has to "
                    "return at least one"
                )
        if self.perf_model is not None:
            top_k = self.configs_top_k
            if isinstance(top_k, float) and top_k <= 1.0:
                top_k = int(len(self.configs) * top_k)
            elif not isinstance(top_k, int):
                raise TypeError(f"`top_k` must be an int, or a float up to 1.0, not {top_k!r}")
            if len(configs) > top_k:
                estimates = {config: self.perf_model(**named, **kwargs, **config.all_kwargs()) for config in configs}
                configs = sorted(estimates, key=estimates.__getitem__)[:top_k]
        return list(configs)

    def warmup(self, *args: Any, **kwargs: Any) -> list[Any]:
        """Compiles every configuration that is worth timing."""
        with self._tuning:
            self.nargs = self._named(args)
            configs = self.prune_configs(kwargs)
        return [self.fn.warmup(*args, **kwargs, **config.all_kwargs()) for config in configs]


def autotune(
    configs: list[Config],
    key: list[str],
    prune_configs_by: dict[str, Any] | None = None,
    reset_to_zero: Iterable[str] | None = None,
    restore_value: Iterable[str] | None = None,
    pre_hook: Callable[..., Any] | None = None,
    post_hook: Callable[..., Any] | None = None,
    warmup: int | None = None,
    rep: int | None = None,
    use_cuda_graph: bool = False,
    do_bench: Callable[..., Any] | None = None,
    cache_results: bool = False,
) -> Callable[[Any], Autotuner]:
    """Has a kernel choose the fastest of `configs`, anew whenever an argument named in `key` has a new value.

    Timing runs the kernel many times: name outputs that it accumulates into in `reset_to_zero`, and arguments that it
    changes in place in `restore_value`. `prune_configs_by` may hold `early_config_prune(configs, named_args,
    **kwargs)`, and `perf_model(**arguments)` with `top_k`. `warmup` and `rep` are milliseconds.
    `TRITON_PRINT_AUTOTUNING=1` prints the choice. With `cache_results`, or `TRITON_CACHE_AUTOTUNING=1`, timings are
    kept on disk for other processes, unless a configuration has a hook.
    """

    def decorate(fn: Any) -> Autotuner:
        return Autotuner(
            fn,
            fn.arg_names,
            configs,
            key,
            reset_to_zero,
            restore_value,
            pre_hook=pre_hook,
            post_hook=post_hook,
            prune_configs_by=prune_configs_by,
            warmup=warmup,
            rep=rep,
            use_cuda_graph=use_cuda_graph,
            do_bench=do_bench,
            cache_results=cache_results,
        )

    return decorate


class Heuristics(KernelInterface):
    """A kernel some of whose arguments are computed from the others."""

    def __init__(self, fn: Any, arg_names: list[str], values: dict[str, Callable[[dict[str, Any]], Any]]) -> None:
        self.fn = fn
        self.arg_names = arg_names
        self.values = values

    def _with_values(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        named = dict(zip(self.arg_names, args, strict=False))
        for name, compute in self.values.items():
            kwargs[name] = compute({**named, **kwargs})
        return kwargs

    def run(self, *args: Any, **kwargs: Any) -> Any:
        return self.fn.run(*args, **self._with_values(args, kwargs))

    def warmup(self, *args: Any, **kwargs: Any) -> Any:
        return self.fn.warmup(*args, **self._with_values(args, kwargs))


def heuristics(values: dict[str, Callable[[dict[str, Any]], Any]]) -> Callable[[Any], Heuristics]:
    """Computes meta-parameters from the other arguments: `{"BLOCK": lambda args: next_power_of_2(args["n"])}`."""

    def decorate(fn: Any) -> Heuristics:
        return Heuristics(fn, fn.arg_names, values)

    return decorate
