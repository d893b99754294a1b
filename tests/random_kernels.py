"""Random kernels: chains of operations on blocks of every type, each of which the compiler takes.

python tests/random_kernels.py [COUNT]   compares compiled and interpreted launches of so many kernels
"""

import importlib.util
import itertools
import sys
import tempfile
from pathlib import Path

import numpy as np

import tegula

#: Extents of blocks.
SHAPES = ((6, 20), (6, 20), (1, 300), (33, 1), (16, 64), (3, 1000), (2, 4096))

HEADER = """
import tegula
import tegula.language as tl
from tegula.language.extra import libdevice


@tegula.jit
def combine(a, b):
    return a + b * 2


@tegula.jit
def larger(a, i, b, j):
    first = (a > b) | ((a == b) & (i < j))
    return tl.where(first, a, b), tl.where(first, i, j)


@tegula.jit
def mixed(a, b):
    return a * 3 - b if a > b else b + 1


@tegula.jit
def nested(x, n):
    if n > 3:
        return x + n
    return x - n


@tegula.jit
def numbers(x):
    return tl.where(x == x, x, 0).to(x.dtype)


@tegula.jit
def save(out_ptr, x):
    # Which NaN is one may depend on what was optimised.
    x = tl.where(x == x, x, float("nan")).to(x.dtype) if x.dtype.is_floating() else x
    if not x.dtype.is_floating():
        bits = x.to(tl.int64)
    elif x.dtype.primitive_bitwidth == 8:
        bits = x.to(tl.uint8, bitcast=True).to(tl.int64)
    elif x.dtype.primitive_bitwidth == 16:
        bits = x.to(tl.uint16, bitcast=True).to(tl.int64)
    elif x.dtype.primitive_bitwidth == 32:
        bits = x.to(tl.uint32, bitcast=True).to(tl.int64)
    else:
        bits = x.to(tl.int64, bitcast=True)
    at = tl.arange(0, {R})[:, None] * {C} + tl.arange(0, {C})[None, :]
    tl.store(out_ptr + at, tl.broadcast_to(bits, ({R}, {C})))


@tegula.jit
def kernel(x_ptr, scratch_ptr, out_ptr, n, f):
    rows = tl.arange(0, {R})[:, None]
    columns = tl.arange(0, {C})[None, :]
    at = rows * {C} + columns
    words = tl.load(x_ptr + at)
"""

INTEGERS = ("int1", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOATS = (
    "float8e4nv",
    "float8e5",
    "float8e4b15",
    "float8e4b8",
    "float8e5b16",
    "float16",
    "bfloat16",
    "float32",
    "float64",
)
TYPES = INTEGERS + FLOATS
MATHEMATICS = ("exp", "exp2", "log", "log2", "sin", "cos", "sqrt", "rsqrt", "erf", "floor", "ceil", "sigmoid")
LIBDEVICE = (
    "tanh",
    "atan",
    "asinh",
    "expm1",
    "log1p",
    "cbrt",
    "tgamma",
    "lgamma",
    "erfc",
    "j0",
    "rint",
    "trunc",
    "isnan",
    "ilogb",
)

#: Expressions over blocks `{a}` and `{b}`, which are of any type; those that a type has no meaning for are refused.
EXPRESSIONS = (
    *(f"{{a}} {sign} {{b}}" for sign in ("+", "-", "*", "/", "&", "|", "^", "<", ">=", "==", "!=")),
    "{a} // ({b} | 1)",
    "{a} % ({b} | 1)",
    "{a} % {b}",
    "{a} << ({b} & 7)",
    "{a} >> ({b} & 7)",
    "-{a}",
    "~{a}",
    "abs({a})",
    "{a} + {c}",
    "{c} * {a}",
    "{a} / {c}",
    "{c} - {a}",
    "{a} == {c}",
    "{a} + n",
    "{a} * f",
    "{a} - n * f",
    "tl.where({a} > {b}, {a}, {b})",
    "tl.where({a}, {b}, {c})",
    "{a} if n > 4 else {a} * 2",
    "{a} > 0 and not {b} > 0",
    "{c} < {a} <= {b}",
    "tl.minimum({a}, {b})",
    "tl.maximum({a}, {c})",
    "tl.clamp({a}, {b}, {b} + 1)",
    "tl.maximum({a}, {b}, propagate_nan=tl.PropagateNan.ALL)",
    "tl.fma({a}, {b}, {a})",
    "tl.umulhi({a}, {b})",
    "tl.fdiv({a}, {b})",
    "tl.div_rn({a}, {b})",
    "{a}.to({t})",
    "{a}.to({t})",
    "{a}.to({t})",
    "numbers({a}).to({t}, bitcast=True)",
    "{a}.to(tl.float32).to({t}, fp_downcast_rounding='rtz')",
    "{a}.to(tl.float64).to({t})",
    *(f"tl.{name}({{a}})" for name in MATHEMATICS),
    *(f"libdevice.{name}({{a}})" for name in LIBDEVICE),
    "libdevice.pow({a}, {b})",
    "libdevice.fmod({a}, {b})",
    "libdevice.atan2({a}, {b})",
    "libdevice.hypot({a}, {b})",
    *(f"tl.{name}({{a}}, {axis}, keep_dims=True)" for name in ("sum", "max", "min", "xor_sum") for axis in (0, 1)),
    "tl.sum({a}) + {b}",
    "tl.max({a}) + {b}",
    "tl.argmax({a}, 1)[:, None] + {b}",
    "tl.argmin({a}, 0)[None, :] + {b}",
    "tl.max({a}, 1, return_indices=True, keep_dims=True)[1] + {b}",
    "tl.sum({a}, 0, dtype=tl.float32)[None, :] + {b}",
    "tl.reduce({a}, 1, combine)[:, None] + {b}",
    "tl.reduce({a}, 0, mixed, keep_dims=True)",
    "tl.reduce({a}, None, combine) + {b}",
    "tl.reduce(({a}, at), 1, larger)[0][:, None] + {b}",
    "tl.associative_scan(({a}, at), 0, larger)[1] + {b}",
    "tl.cumsum({a}, 0)",
    "tl.cumsum({a}, 1, reverse=True)",
    "tl.cumprod({a}, 1)",
    "tl.associative_scan({a}, 0, combine, reverse=True)",
    "tl.associative_scan({a}, 1, mixed)",
    "tl.sort({a})",
    "tl.sort({a}, 0, descending=True)",
    "tl.topk({a}, 1) + {b}",
    "tl.flip({a}, 1)",
    "tl.softmax({a}, 1)",
    "tl.trans(tl.reshape({a}, ({C}, {R})))",
    "tl.reshape(tl.trans({a}), ({R}, {C}))",
    "tl.split(tl.join({a}, {b}))[1] + {a}",
    "tl.interleave({a}, {b})[:, 0:{C}]",
    "{a}[2, :][None, :] + {b}[:, 3:4]",
    "tl.cat({a}, {b}, dim=0)[0:{R}, :]",
    "{a}[1, 5] + {b}",
    "tl.gather({a}, (at * 7 + 3) % {R}, 0)",
    "tl.gather({a}, (at * 7 + n) % {C}, 1)",
    "tl.histogram(tl.ravel({a}), {C})[None, :] + {b}",
    "tl.sum(tl.dot({a}, tl.trans({b})), 1)[:, None] + {a}",
    "tl.dot({a}, tl.trans({a}))[:, 0:1] + {b}",
    "tl.dot({a}, tl.trans({a}), input_precision='ieee', out_dtype=tl.float16)[:, 2:3] * {b}",
    "tl.sum(tl.dot({a}, tl.trans({a}), tl.dot({b}, tl.trans({b}))), 0, keep_dims=True) * 2",
    "tl.rand(n, at) + {a}",
    "tl.randint(7, {a})",
    "tl.randn(3, at) * {a}",
    "nested({a}, n)",
    "nested({a}, 5) + nested({b}, 2)",
    "tl.map_elementwise(mixed, {a}, {b})",
    "tl.load(x_ptr + at, mask={a} > {b}, other={c}).to({t}, bitcast=False)",
    "tl.atomic_add(scratch_ptr + at, {a}, mask={b} > 0) + {b}",
    "tl.atomic_max(scratch_ptr + at % 5, {a}, mask={b} < 3) + {b}",
    "tl.atomic_xchg(scratch_ptr + at, {a}) ^ {b}",
    "tl.atomic_cas(scratch_ptr + at, {a}, {b})",
    "tl.zeros_like({a}) + {c}",
    "tl.atomic_xor(scratch_ptr + at % 7, {a})",
    "tl.full(({R}, {C}), {c}, {t}) + {a}",
)

#: Statements in which a name `{v}` starts as a block and gets another.
STATEMENTS = (
    "{v} = {a}\nfor i in range(n):\n    {v} = ({v} + i).to({a}.dtype)",
    "{v} = {a}\nfor i in range(n, 0, -2):\n    {v} += i\n    {v} = {v}.to({a}.dtype)",
    "{v} = {a}\nfor i in tl.static_range(3):\n    {v} = {v} * {v} - i",
    "{v} = {a}\nif n > 2:\n    {v} = ({a} * 3).to({a}.dtype)\nelif f > 0:\n    {v} = -{a}",
    "{v} = {a}\nj = n\nwhile j > 0:\n    if j % 2 == 0:\n        {v} = {v} + {v}\n    j -= 1",
    "{v} = {a}\nif tl.sum(({a} > {b}).to(tl.int32)) > n:\n    {v} = tl.where({a} > {b}, {a}, {a} + 1).to({a}.dtype)",
    "tl.store(scratch_ptr + at, {a})\n{v} = tl.load(scratch_ptr + tl.flip(at, 1))",
    "total = tl.zeros((), {t})\nfor i in range(4):\n    total = (total + i * n).to({t})\n{v} = {a} + total",
)


class Generator:
    """Writes kernels whose every statement compiles."""

    def __init__(self, seed):
        self.random = np.random.default_rng(seed)
        self.folder = tempfile.TemporaryDirectory()
        self.numbers = itertools.count()
        self.rows, self.columns = self.pick(SHAPES)

    def pick(self, items):
        return items[self.random.integers(len(items))]

    def load(self, body):
        """The kernel with a body."""
        path = Path(self.folder.name) / f"random_kernel_{next(self.numbers)}.py"
        header = HEADER.format(R=self.rows, C=self.columns)
        path.write_text(header + "".join(f"    {line}\n" for line in body.split("\n")))
        spec = importlib.util.spec_from_file_location(path.stem, path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        return module

    def start(self, name):
        """A block of random bits of a random type."""
        kind = self.pick(TYPES)
        bits = 1 if kind == "int1" else int("".join(filter(str.isdigit, kind.split("e")[0].replace("bfloat", "float"))))
        word = {1: "int1", 8: "uint8", 16: "uint16", 32: "uint32", 64: "uint64"}[bits]
        if self.random.random() < 0.5:
            return f"{name} = (((words >> {self.random.integers(9)}) & 15).to(tl.float32) - 6.5).to(tl.{kind})"
        return f"{name} = (words ^ (words >> {self.random.integers(40)})).to(tl.{word}).to(tl.{kind}, bitcast=True)"

    def constant(self):
        return self.pick(("0", "1", "-1", "3", "2.5", "-0.0", "100", "True", "1e-3", "float('inf')", "70000"))

    def body(self, length):
        lines = [self.start("v0"), self.start("v1"), self.start("v2")]
        names = ["v0", "v1", "v2"]
        for _ in range(20 * length):
            if len(names) == length:
                break
            name = f"v{len(names)}"
            template = self.pick(STATEMENTS) if self.random.random() < 0.15 else f"{{v}} = {self.pick(EXPRESSIONS)}"
            a, b = self.pick(names[-4:]), self.pick(names)
            kind = f"tl.{self.pick(TYPES)}"
            line = template.format(v=name, a=a, b=b, c=self.constant(), t=kind, R=self.rows, C=self.columns)
            widened = f"{name} = tl.broadcast_to({name}, ({self.rows}, {self.columns}))"
            # Stored, since a back end does not see what nobody needs.
            attempt = "\n".join([*lines, line, widened, f"save(out_ptr, {name})"])
            try:
                self.load(attempt).kernel.warmup(*self.types(), grid=(1,))
            except tegula.CompilationError:
                continue
            lines += [line, widened]
            names.append(name)
        size = self.rows * self.columns
        lines += [f"save(out_ptr + {number * size}, {name})" for number, name in enumerate(names)]
        return "\n".join(lines), len(names)

    @staticmethod
    def types():
        return np.zeros(1, np.uint64), np.zeros(1, np.int32), np.zeros(1, np.int64), 5, 1.5

    def arguments(self, blocks):
        size = self.rows * self.columns
        words = self.random.integers(0, 2**64, size, np.uint64)
        scratch = self.random.integers(-9, 9, size, np.int32)
        return words, scratch, np.full(blocks * size, -1), int(self.random.integers(2, 9)), float(self.random.normal())


def disagreement(generator, length):
    """The body of a random kernel and where its compiled and its interpreted launch differ; `None` if nowhere."""
    body, blocks = generator.body(length)
    module = generator.load(body)
    words, scratch, out, n, f = generator.arguments(blocks)
    results = []
    for interpret in (False, True):
        for name in ("combine", "larger", "mixed", "nested", "numbers", "save"):
            setattr(module, name, tegula.jit(getattr(module, name).fn, interpret=interpret))
        kernel = tegula.jit(module.kernel.fn, interpret=interpret)
        arrays = words.copy(), scratch.copy(), out.copy()
        kernel[(1,)](*arrays, n, f)
        results.append(arrays[1:])
    (scratch, compiled), (other_scratch, interpreted) = results
    if np.array_equal(compiled, interpreted) and np.array_equal(scratch, other_scratch):
        return None
    differ = compiled != interpreted
    if not differ.any():
        return body, "the scratch differs"
    first = int(differ.argmax())
    block, element = divmod(first, generator.rows * generator.columns)
    fact = f"v{block}[{element}]: {compiled[first]:#x} or {interpreted[first]:#x}"
    return body, f"{fact} for n={n}, f={f}"


def main():
    count = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    for seed in range(count):
        try:
            found = disagreement(Generator(seed), 12)
        except Exception as error:
            found = "", f"{type(error).__name__}: {error}"
        if found:
            print(f"--- seed {seed}: {found[1]}\n{found[0]}")


if __name__ == "__main__":
    main()
