"""What only moves, repeats or renames elements: shapes, transpositions, joins, slices."""

import itertools
import math

import numpy as np
import pytest
from expressions import NUMBERS, any_bits, check, draw, evaluate, exact, octets

import tegula as triton

TYPES = ("int1", *NUMBERS, "float8e4nv", "float8e5")
#: Shapes with as many elements.
RESHAPED = [((12,), (3, 4)), ((3, 4), (12,)), ((3, 4), (4, 3)), ((2, 3, 4), (6, 4)), ((64, 32), (16, 128)),
            ((1, 7), (7,)), ((7, 33), (11, 21)), ((256,), (2, 4, 8, 4)), ((1,), (1, 1, 1)), ((16, 2), (2, 16))]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("function", ["reshape", "view"])
def test_reshapes_keep_the_order_of_rows(rng, function, dtype):
    for shape, target in RESHAPED:
        x = draw(rng, dtype, shape)
        for expression in (f"tl.{function}(x, {target})", f"x.{function}({', '.join(map(str, target))})"):
            check(evaluate(expression, x, into=dtype, shape=target), exact(x).reshape(target))


@pytest.mark.parametrize("dtype", TYPES)
def test_blocks_in_one_dimension(rng, dtype):
    for shape in ((5,), (3, 4), (2, 3, 5), (16, 16)):
        x = draw(rng, dtype, shape)
        check(evaluate("tl.ravel(x)", x, into=dtype, shape=(math.prod(shape),)), exact(x).reshape(-1))


@pytest.mark.parametrize("dtype", TYPES)
def test_transposition(rng, dtype):
    for shape in ((1, 1), (3, 4), (16, 16), (2, 128), (33, 7), (64, 32)):
        x = draw(rng, dtype, shape)
        for expression in ("tl.trans(x)", "x.T", "x.trans()", "tl.permute(x, 1, 0)", "tl.trans(x, (1, 0))"):
            check(evaluate(expression, x, into=dtype, shape=shape[::-1]), exact(x).T)


ORDERS = [*itertools.permutations(range(3)), (0, 3, 1, 2), (3, 2, 1, 0), (1, 0, 3, 2)]


@pytest.mark.parametrize("order", ORDERS, ids=str)
def test_permutations(rng, order):
    for dtype in ("int8", "float16", "int32", "float64"):
        for sizes in ((2, 3, 5, 4), (8, 1, 4, 2), (4, 8, 16, 2)):
            x = draw(rng, dtype, sizes[: len(order)])
            expected = exact(x).transpose(order)
            for expression in (f"tl.permute(x, {order})", f"x.trans{order}"):
                check(evaluate(expression, x, into=dtype, shape=expected.shape), expected)


def test_transpositions_of_three_dimensions_swap_the_last_two(rng):
    x = draw(rng, "int32", (2, 3, 5))
    check(evaluate("tl.trans(x)", x, into="int32", shape=(2, 5, 3)), exact(x).swapaxes(1, 2))


@pytest.mark.parametrize("dtype", TYPES)
def test_joins_and_their_inverse(rng, dtype):
    for shape in ((), (1,), (13,), (128,), (3, 50)):
        x, y = draw(rng, dtype, shape), draw(rng, dtype, shape)
        joined = np.stack([exact(x), exact(y)], -1)
        check(evaluate("tl.join(x, y)", x, y, into=dtype, shape=(*shape, 2)), joined)
        left, right = evaluate("tl.split(tl.join(y, x))", x, y, into=[dtype, dtype])
        check(left, exact(y))
        check(right, exact(x))
        mixed = (*shape[:-1], 2 * shape[-1]) if shape else (2,)
        check(evaluate("tl.interleave(x, y)", x, y, into=dtype, shape=mixed), joined.reshape(mixed))


@pytest.mark.parametrize("dtype", ["int8", "float16", "int32", "int64"])
def test_joins_broadcast(rng, dtype):
    x, y = draw(rng, dtype, (5, 1)), draw(rng, dtype, (1, 4))
    expected = np.stack(np.broadcast_arrays(exact(x), exact(y)), -1)
    check(evaluate("tl.join(x, y)", x, y, into=dtype, shape=(5, 4, 2)), expected)


@pytest.mark.parametrize("dtype", TYPES)
def test_one_block_after_another(rng, dtype):
    for shape in ((1,), (16,), (13,)):
        x, y = draw(rng, dtype, shape), draw(rng, dtype, shape)
        both = np.concatenate([exact(x), exact(y)])
        for expression in ("tl.cat(x, y)", "tl.cat(x, y, can_reorder=True)"):
            check(evaluate(expression, x, y, into=dtype, shape=both.shape), both)
    x, y = draw(rng, dtype, (4, 6)), draw(rng, dtype, (4, 6))
    for axis in (0, 1):
        both = np.concatenate([exact(x), exact(y)], axis)
        check(evaluate(f"tl.cat(x, y, dim={axis})", x, y, into=dtype, shape=both.shape), both)


#: New dimensions of a block of (3, 4), and the shapes that they give.
EXPANDED = [("tl.expand_dims(x, 0)", (1, 3, 4)), ("tl.expand_dims(x, -1)", (3, 4, 1)), ("x[:, None]", (3, 1, 4)),
            ("x[None, :, None, :]", (1, 3, 1, 4)), ("tl.expand_dims(x, (0, 2))", (1, 3, 1, 4)),
            ("x.expand_dims(1)", (3, 1, 4)), ("tl.unsqueeze(x, 1)", (3, 1, 4)), ("tl.unsqueeze(x, -1)", (3, 4, 1)),
            ("tl.squeeze(x[None, :, :], 0)", (3, 4)), ("tl.squeeze(x[:, :, None], -1)", (3, 4)),
            ("tl.broadcast_to(x[None, :, :], 2, 3, 4)", (2, 3, 4)), ("x[:, None].broadcast_to((3, 5, 4))", (3, 5, 4)),
            ("tl.broadcast(x, tl.zeros((2, 3, 4), x.dtype))[0]", (2, 3, 4)),
            ("tl.broadcast(x[:, :, None], tl.zeros((6,), x.dtype))[0]", (3, 4, 6))]


@pytest.mark.parametrize(("expression", "shape"), EXPANDED, ids=[row[0] for row in EXPANDED])
def test_new_dimensions(rng, expression, shape):
    for dtype in ("int1", "int8", "float16", "float32", "int64"):
        x = draw(rng, dtype, (3, 4))
        values = exact(x)
        # A place of extent 1, or of a repetition, for each that the block does not have.
        rest, places = list(values.shape), []
        for extent in reversed(shape):
            places.insert(0, rest.pop() if rest and rest[-1] == extent else 1)
        check(evaluate(expression, x, into=dtype, shape=shape), np.broadcast_to(values.reshape(places), shape))


#: Parts of a block of (6, 16), as numpy and the language write them.
PARTS = ["x[0, :]", "x[5, :]", "x[:, 3]", "x[2, 7]", "x[:, 4:8]", "x[2:4, :]", "x[1:3, 8:16]", "x[-1, :]", "x[:, -2]",
         "x[4]", "x[:, None, 5]", "x[3, None, 2:4]", "x[:3]", "x[:, 8:]"]


@pytest.mark.parametrize("part", PARTS)
def test_parts(rng, part):
    for dtype in ("int1", "uint8", "bfloat16", "float32", "float64"):
        x = draw(rng, dtype, (6, 16))
        expected = eval(part, {}, {"x": exact(x)})
        check(evaluate(part, x, into=dtype, shape=np.shape(expected)), expected)


@pytest.mark.parametrize("expression", ["x[y, :]", "x[:, y]", "x[y, y]", "x[y]"])
def test_places_that_are_known_at_run_time(rng, expression):
    for index in range(6):
        x, y = draw(rng, "int32", (6, 6)), draw(rng, "int32", (), index, index)
        expected = eval(expression, {}, {"x": exact(x), "y": index})
        check(evaluate(expression, x, y, into="int32", shape=np.shape(expected)), expected)


def test_the_only_element(rng):
    for dtype in TYPES:
        for shape in ((1,), (1, 1), (1, 1, 1)):
            x = draw(rng, dtype, shape)
            check(evaluate("x.item()", x, into=dtype, shape=()), exact(x).reshape(()))
            check(evaluate("tl.reshape(x, ())", x, into=dtype, shape=()), exact(x).reshape(()))


@pytest.mark.parametrize("dtype", TYPES)
def test_bits_stay_as_they_are(rng, dtype):
    """What only moves elements moves NaNs of any bits."""
    x = any_bits(rng, dtype, (8, 4)) if dtype != "int1" else draw(rng, dtype, (8, 4))
    moved = evaluate("tl.trans(tl.reshape(tl.flip(x), 4, 8))", x, into=dtype, shape=(8, 4))
    wanted = octets(x).flip(1).reshape(4, 8, -1).transpose(0, 1)
    assert octets(moved).equal(wanted)


#: Blocks that are made of constants, and what numpy makes.
MADE = {
    "tl.arange(0, 96)": np.arange(96), "tl.arange(5, 12)": np.arange(5, 12), "tl.arange(-4, 4)": np.arange(-4, 4),
    "tl.zeros((3, 4), tl.int32)": np.zeros((3, 4)), "tl.full((2, 3), -7, tl.int32)": np.full((2, 3), -7),
    "tl.full([], 9, tl.int32)": np.array(9),
}


@pytest.mark.parametrize("expression", MADE)
def test_blocks_that_are_made(expression):
    check(evaluate(expression, into="int32", shape=MADE[expression].shape), MADE[expression])


@pytest.mark.parametrize("dtype", NUMBERS)
def test_blocks_of_one_number(rng, dtype):
    x = draw(rng, dtype, ())
    check(evaluate(f"tl.full((3, 5), x, tl.{dtype})", x, into=dtype, shape=(3, 5)), exact(x))
    check(evaluate("tl.zeros_like(x)", draw(rng, dtype, (4, 9)), into=dtype), 0)


@pytest.mark.parametrize("sizes", [(4, 4, 2), (7, 6, 4), (5, 3, 1), (3, 8, 16)], ids=str)
def test_tiles_of_groups(sizes):
    rows, columns, group = sizes
    places = f"tl.arange(0, {rows})[:, None], tl.arange(0, {columns})[None, :]"
    expression = f"tl.swizzle2d({places}, {rows}, {columns}, {group})"
    result = evaluate(expression, into=["int32", "int32"], shape=(rows, columns))
    seen = np.stack([part.numpy() for part in result], -1).reshape(-1, 2).tolist()
    expected = []
    for index in range(rows * columns):
        first = index // (group * columns) * group
        height = min(rows - first, group)
        within = index - first * columns
        expected.append([first + within % height, within // height])
    assert seen == expected


@pytest.mark.parametrize("expression", [
    "tl.reshape(x, 5, 2)", "tl.permute(x, 0, 0)", "tl.permute(x, 0, 2)", "tl.trans(x, 0)", "tl.split(x)",
    "tl.squeeze(x, 0)", "tl.broadcast_to(x, 5, 4)", "x[9, :]", "x[0, 0, 0]", "tl.expand_dims(x, 7)", "x.item()",
])
def test_shapes_that_do_not_fit_are_refused(rng, expression):
    with pytest.raises(triton.CompilationError):
        evaluate(expression, draw(rng, "int32", (3, 4)), into="int32")
