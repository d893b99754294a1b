"""The exceptions that tegula raises of its own, and its warnings."""

from __future__ import annotations


class TegulaError(Exception):
    """What every exception of tegula derives from, beside Python's own (`TypeError` for a wrong call, ...)."""


class CompilationError(TegulaError):
    """A kernel is ill-formed.

    The message quotes the kernel's line with a caret beneath it, and says the facts and, where there is one, the
    remedy. `places` holds one tuple a complaint: the message's first line, the file, the line and the column.
    """

    def __init__(self, message: str, places: list[tuple[str, str, int, int]] | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.places = places or []

    def __str__(self) -> str:
        return self.message

    def __reduce__(self):
        return type(self), (self.message, self.places)


class KernelAssertionError(TegulaError, RuntimeError):
    """A kernel stopped while it ran: a failed `tl.device_assert`, or an access out of bounds (`TEGULA_DEBUG=1`)."""


class SimulationError(TegulaError, RuntimeError):
    """The simulator finds fault with a launch (`TEGULA_TARGET=sim:sm_90`): a race, an access out of bounds, ...

    The message names the kernel's line, the PTX line, the program, the warp, the lane and the address.
    """


class InternalCompilerError(TegulaError, RuntimeError):
    """The compiler itself is at fault, not the kernel: please report it, with the kernel that the message names."""


class KernelWarning(UserWarning):
    """A kernel, or a launch of it, does what usually is a mistake; docs/warnings.md lists the rules.

    The message quotes the kernel's line. Each place of a kernel is warned of once; Python's filters of warnings apply,
    and `TEGULA_WARNINGS=0` silences all of them.
    """


class OutOfResources(TegulaError, RuntimeError):
    """A kernel asks for more of something (`name`) than the hardware has."""

    def __init__(self, required: int, limit: int, name: str) -> None:
        super().__init__(required, limit, name)
        self.required = required
        self.limit = limit
        self.name = name

    def __str__(self) -> str:
        unit = "bytes of " if self.name == "shared memory" else ""
        return (
            f"out of resources: a program of the kernel needs {self.required} {unit}{self.name}, the hardware has "
            f"{self.limit}; smaller blocks, a smaller `num_stages` or more warps need less"
        )


class DriverError(TegulaError, RuntimeError):
    """The CUDA driver reports an error: of this launch, or of an earlier one that has failed since; or there is no
    driver, or no assembler."""


class AutotunerError(TegulaError):
    """Autotuning has nothing to choose from."""
