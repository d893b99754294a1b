"""One launch in the simulator and on a GPU: what must agree bit for bit, and how far the rest may differ.

A function marked with `case` makes a launch of fresh inputs. Its PTX says how results are compared:

* *approx*: it has approximate instructions, whose last bits no manual promises. PTX bounds their errors by 2^-20.5
  (`sin`, `cos`), two units in the last place (`ex2`, `lg2`, `div.full`), or less; that of `tanh` by 2^-11. A difference
  may be `TOLERANCE` of the value, times what the case says that its arithmetic makes of it, and a unit of the type.
* *sums*: it adds products of floats on tensor cores, and the case gives `bounds`, since its sums are not exact.
  Hardware cuts every product and every partial sum off some bits below the largest of them.
* *exact*: all other launches, among them products whose sums are exact. Every byte is the same, but for the bits
  of NaN, which PTX leaves open.
"""

import re
from dataclasses import dataclass, field

import torch

from tegula import knobs

CODE = "sm_90a"
#: What an approximate instruction may differ by, relative to its result: twice the widest bound of PTX's.
TOLERANCE = 2.0**-19.5
APPROXIMATE = re.compile(r"\b(?:ex2|lg2|rcp|rsqrt|sqrt|sin|cos|tanh|div)\.(?:approx|full)\b[\w.]*")
FLOAT_PRODUCTS = re.compile(r"\b(?:mma\.sync|wgmma\.mma_async)\.[\w.]*\.(?:f16|bf16|tf32|e4m3|e5m2)\b[\w.]*")
#: How many programs a multiprocessor shall hold: a wish for few registers, which is dropped where they spill.
RESIDENCY = re.compile(r"^\.minnctapersm \d+\n", re.MULTILINE)
HAS_GPU = torch.cuda.is_available() and torch.cuda.get_device_capability() == (9, 0)
CASES = {}
VERDICTS = []


@dataclass
class Launch:
    """A launch on tensors of the CPU, numbers, and tuples of them. All tensors are compared afterwards."""

    kernel: object
    grid: tuple
    arguments: tuple
    constants: dict = field(default_factory=dict)
    #: How often `TOLERANCE` the result may differ by: errors of approximate instructions that add up or are magnified.
    magnified: float = 1.0
    #: By position of a tensor: the absolute differences that sums of products may have.
    bounds: dict = field(default_factory=dict)
    #: Absolute differences that approximate instructions may have where results cancel or vanish.
    floor: float = 0.0


@dataclass
class Verdict:
    name: str
    kind: str
    largest: float
    agrees: bool
    #: The NaNs whose bits differ, which are no disagreement.
    other_nans: int

    def __str__(self):
        nans = f", {self.other_nans} NaNs of other bits" if self.other_nans else ""
        judgement = "ok  " if self.agrees else "FAIL"
        return f"{judgement} {self.name:44} {self.kind:6} max difference {self.largest:.3g}{nans}"


def case(*each):
    """Registers a function of a generator (and one of `each`, which are `(label, value)`) that makes a launch."""

    def register(function):
        name = function.__name__.replace("_", " ")
        if not each:
            CASES[name] = function
        for label, value in each:
            CASES[f"{name} {label}"] = lambda rng, value=value: function(rng, value)
        return function

    return register


def copied(argument, device):
    if isinstance(argument, tuple):
        return tuple(copied(item, device) for item in argument)
    return argument.to(device, copy=True) if isinstance(argument, torch.Tensor) else argument


def tensors_of(argument):
    """The tensors of an argument that may be a tuple, on the CPU."""
    if isinstance(argument, tuple):
        return [tensor for item in argument for tensor in tensors_of(item)]
    return [argument.cpu()] if isinstance(argument, torch.Tensor) else []


def run(launch, device, target):
    """The PTX, and the tensors after the launch."""
    arguments = copied(launch.arguments, device)
    before = knobs.runtime.target
    knobs.runtime.target = target
    try:
        compiled = launch.kernel[launch.grid](*arguments, **launch.constants)
    finally:
        knobs.runtime.target = before
    return compiled.asm["ptx"], tensors_of(arguments)


def in_simulator(launch):
    return run(launch, "cpu", f"sim:{CODE}")


def on_gpu(launch):
    return run(launch, "cuda", CODE)


def kind_of(ptx, launch):
    if APPROXIMATE.search(ptx):
        return "approx"
    return "sums" if launch.bounds and FLOAT_PRODUCTS.search(ptx) else "exact"


def unit(tensor):
    """The unit in the last place of 1, of a floating type; 0 of integers, which never differ by rounding."""
    return torch.finfo(tensor.dtype).eps if tensor.dtype.is_floating_point else 0.0


def raw(tensor):
    return tensor.contiguous().view(torch.uint8).reshape((*tensor.shape, -1) if tensor.dim() else (-1,))


def compare(name, launch, simulated, other):
    """Judges the tensors of two launches with one PTX."""
    ptx, left = simulated
    other_ptx, right = other
    assert RESIDENCY.sub("", ptx) == RESIDENCY.sub("", other_ptx), "the simulator and the GPU ran different code"
    kind = kind_of(ptx, launch)
    largest, agrees, other_nans = 0.0, True, 0
    for position, (a, b) in enumerate(zip(left, right, strict=True)):
        same = (raw(a) == raw(b)).all(-1)
        x, y = a.double(), b.double()
        nans = x.isnan() & y.isnan()
        other_nans += int((nans & ~same).sum())
        # What is infinite or NaN on one side alone differs infinitely.
        difference = torch.where(same | nans, 0.0, (x - y).abs().nan_to_num(nan=float("inf"), posinf=float("inf")))
        largest = max(largest, difference.max().item()) if difference.numel() else largest
        if kind == "exact":
            agrees &= bool((same | nans).all())
            continue
        allowed = torch.as_tensor(launch.bounds.get(position, 0.0)).double() + unit(a) * y.abs()
        if kind == "approx":
            allowed = allowed + launch.magnified * TOLERANCE * y.abs() + launch.floor
        agrees &= bool((difference <= allowed).all())
    return Verdict(name, kind, largest, agrees, other_nans)
