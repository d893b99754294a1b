"""The decorator `jit`, and what it makes of a function."""

from __future__ import annotations

import contextlib
import functools
import inspect
import textwrap
import types
from collections.abc import Callable, Iterable
from typing import Any

from .. import _native, knobs
from ..language.aggregates import Aggregate
from ..language.constant import constexpr, unwrap
from ..language.types import const, dtype, pointer_type


class KernelInterface:
    """What can be launched as `kernel[grid](...)`: it has `run(*args, grid=, warmup=, **kwargs)`."""

    def run(self, *args: Any, grid: Any, warmup: bool = False, **kwargs: Any) -> Any:
        raise NotImplementedError(f"{type(self).__name__} has no method `run`")

    def warmup(self, *args: Any, grid: Any = None, **kwargs: Any) -> Any:
        """Compiles for arguments like these, without running."""
        return self.run(*args, grid=grid, warmup=True, **kwargs)

    def __getitem__(self, grid: Any) -> Callable[..., Any]:
        return functools.partial(self.run, grid=grid, warmup=False)


class KernelParam:
    """A parameter of a kernel: its name, default, and what launches may assume of its arguments."""

    def __init__(
        self, num: int, param: inspect.Parameter, do_not_specialize: bool, do_not_specialize_on_alignment: bool
    ) -> None:
        self.num = num
        self.name = param.name
        self.default = param.default
        self.has_default = param.default is not inspect.Parameter.empty
        self.is_keyword_only = param.kind is inspect.Parameter.KEYWORD_ONLY
        self.do_not_specialize = do_not_specialize
        self.do_not_specialize_on_alignment = do_not_specialize_on_alignment
        self.annotation = param.annotation
        self.is_constexpr, self.is_const, self.annotation_type = _read_annotation(param.annotation)


#: What Python's own types declare. `int` declares nothing: integers are as wide as they need to be.
_PYTHON_TYPES = {"bool": "int1", "float": "fp32"}


def _read_annotation(annotation: Any) -> tuple[bool, bool, str]:
    """Whether it says `constexpr`, whether it says `const`, and the scalar type that it declares (`""` for none)."""
    annotation = unwrap(annotation) if isinstance(annotation, constexpr) else annotation
    if annotation is constexpr:
        return True, False, ""
    if annotation is const or (isinstance(annotation, pointer_type) and annotation.const):
        return False, True, ""
    if isinstance(annotation, dtype):
        return False, False, annotation.signature_name
    if annotation in (bool, float):
        annotation = annotation.__name__
    if isinstance(annotation, str):
        # `from __future__ import annotations` leaves the text: `tl.constexpr`, `tl.int64`, `"*fp32"`.
        text = annotation.strip().strip("'\"").rpartition(".")[2]
        if "constexpr" in annotation:
            return True, False, ""
        if text == "const" or text.startswith(("const ", "*k")):
            return False, True, ""
        if text != "void":
            # An annotation that names no type is for other readers.
            with contextlib.suppress(ValueError):
                return False, False, dtype(_PYTHON_TYPES.get(text, text)).signature_name
    return False, False, ""


class JITFunction(_native.JITFunction):
    """A function of the Triton language: `kernel[grid](...)` compiles and launches it; kernels may call it."""

    def __new__(
        cls,
        fn: Callable[..., Any],
        version: Any = None,
        do_not_specialize: Iterable[int | str] | None = None,
        do_not_specialize_on_alignment: Iterable[int | str] | None = None,
        debug: bool | None = None,
        noinline: bool | None = None,
        repr: Callable[..., str] | None = None,
        launch_metadata: Callable[..., Any] | None = None,
        interpret: bool | None = None,
    ) -> JITFunction:
        if interpret is None:
            interpret = knobs.interpret()
        if not inspect.isfunction(fn):
            raise TypeError(f"`jit` decorates functions written in Python, not {type(fn).__name__}")
        values = frozenset(do_not_specialize or ())
        alignments = frozenset(do_not_specialize_on_alignment or ())
        signature = inspect.signature(fn)
        params = []
        for num, param in enumerate(signature.parameters.values()):
            if param.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD):
                # Helpers may take any number of arguments; a launch cannot, and says so by what it does not find.
                continue
            named = {num, param.name}
            params.append(KernelParam(num, param, bool(named & values), bool(named & alignments)))
        self = super().__new__(
            cls,
            fn,
            [
                (
                    p.name,
                    p.default,
                    p.is_keyword_only,
                    p.is_constexpr,
                    p.is_const,
                    p.annotation_type or None,
                    not p.do_not_specialize,
                    not p.do_not_specialize_on_alignment,
                )
                for p in params
            ],
            bool(noinline),
            bool(interpret),
        )
        functools.update_wrapper(self, fn, updated=())
        self.signature = signature
        self.params = params
        self.noinline = noinline
        self.debug = debug
        self.version = version
        self.launch_metadata = launch_metadata
        self.do_not_specialize = do_not_specialize or []
        self.do_not_specialize_on_alignment = do_not_specialize_on_alignment or []
        return self

    @property
    def src(self) -> str:
        """The text of the definition without its decorators."""
        text = textwrap.dedent(self.raw_src)
        return text[text.index("def ") :] if not text.startswith("def ") else text

    def add_pre_run_hook(self, hook: Callable[..., Any]) -> None:
        """Has `hook(*args, **kwargs)` called before each launch."""
        self.pre_run_hooks.append(hook)

    def __reduce__(self) -> str:
        """Kernels are copied and pickled as functions are: a copy is the kernel itself, a pickle is its name."""
        return self.__qualname__

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        # In an interpreted kernel, the jitted methods of aggregates are methods as Python has them.
        bound = instance is not None and _native.is_interpreting() and isinstance(instance, Aggregate)
        return types.MethodType(self, instance) if bound else self

    def __repr__(self) -> str:
        return f"JITFunction({self.__module__}:{self.__qualname__})"


def jit(
    fn: Callable[..., Any] | None = None,
    *,
    version: Any = None,
    repr: Callable[..., str] | None = None,
    launch_metadata: Callable[..., Any] | None = None,
    do_not_specialize: Iterable[int | str] | None = None,
    do_not_specialize_on_alignment: Iterable[int | str] | None = None,
    debug: bool | None = None,
    noinline: bool | None = None,
    interpret: bool | None = None,
) -> Any:
    """Makes a function a kernel of the Triton language, or a helper that kernels call.

    `do_not_specialize` names (or numbers) parameters whose values are never compiled in, not even 1;
    `do_not_specialize_on_alignment`, those whose divisibility by 16 is not used. `noinline` asks that calls be kept.

    With `interpret=True`, or `TRITON_INTERPRET=1` in the environment when the function is decorated, launches run the
    function as ordinary Python: `print`, `breakpoint()` and debuggers work in it, and `.numpy()` of a tile gives its
    elements.

    `launch_metadata(grid, metadata, arguments)` returns facts of a launch for the hooks of `knobs.runtime`. `repr` has
    no effect, nor has `debug`: `tl.device_assert` is always checked.
    """

    def decorate(fn: Callable[..., Any]) -> JITFunction:
        return JITFunction(
            fn,
            version=version,
            do_not_specialize=do_not_specialize,
            do_not_specialize_on_alignment=do_not_specialize_on_alignment,
            debug=debug,
            noinline=noinline,
            repr=repr,
            launch_metadata=launch_metadata,
            interpret=interpret,
        )

    return decorate if fn is None else decorate(fn)


class ConstexprFunction:
    """A Python function that kernels call at compile time, with constants for arguments."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn
        functools.update_wrapper(self, fn)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else ConstexprFunction(self.fn.__get__(instance, owner))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return unwrap(self.fn(*map(unwrap, args), **{name: unwrap(value) for name, value in kwargs.items()}))


def constexpr_function(fn: Callable[..., Any]) -> ConstexprFunction:
    """Lets kernels call a Python function at compile time: its arguments and its result are constants."""
    return ConstexprFunction(fn)


class MockTensor:
    """Stands for a tensor of a type where only the type matters: `kernel.warmup(MockTensor(torch.float32), ...)`."""

    def __init__(self, dtype: Any, shape: list[int] | None = None) -> None:
        self.dtype = dtype
        self.shape = shape or [1]

    @staticmethod
    def wrap_dtype(argument: Any) -> Any:
        """A tensor of the type, if the argument is a `torch.dtype`."""
        is_torch_dtype = type(argument).__name__ == "dtype" and type(argument).__module__ == "torch"
        return MockTensor(argument) if is_torch_dtype else argument

    def stride(self) -> tuple[int, ...]:
        strides = [1]
        for extent in self.shape[:0:-1]:
            strides.append(strides[-1] * extent)
        return tuple(reversed(strides))

    @staticmethod
    def data_ptr() -> int:
        return 0


class TensorWrapper:
    """A tensor whose memory is read as another type; see `reinterpret`."""

    def __init__(self, base: Any, dtype: Any) -> None:
        self.base = base
        self.dtype = dtype
        self.data = base.data
        self.device = base.device
        self.shape = base.shape

    def data_ptr(self) -> int:
        return self.base.data_ptr()

    def stride(self, *args: int) -> Any:
        return self.base.stride(*args)

    def element_size(self) -> int:
        return self.base.element_size()

    def cpu(self) -> TensorWrapper:
        return TensorWrapper(self.base.cpu(), self.dtype)

    def clone(self) -> TensorWrapper:
        return TensorWrapper(self.base.clone(), self.dtype)

    def to(self, device: Any) -> TensorWrapper:
        return TensorWrapper(self.base.to(device), self.dtype)

    def copy_(self, other: TensorWrapper) -> None:
        self.base.copy_(other.base)

    def __str__(self) -> str:
        return f"TensorWrapper[{self.dtype}]({self.base})"


def reinterpret(tensor: Any, dtype: Any) -> Any:
    """The same memory as elements of another type of the language: `reinterpret(x, tl.float8e5)`."""
    base = tensor.base if isinstance(tensor, TensorWrapper) else tensor
    if not hasattr(base, "data_ptr"):
        raise TypeError(f"cannot reinterpret {type(tensor).__name__}, which has no `data_ptr`")
    return base if dtype == base.dtype else TensorWrapper(base, dtype)
