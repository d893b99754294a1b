"""Functions of `triton.language` that need nothing but other functions of it."""


@method
def cdiv(x, div):
    """The quotient of integers, rounded up.

    For non-negative `x` and positive `div`. The result exists at run time; `triton.cdiv` gives a constant.
    """
    return (x + (div - 1)) // div


@method
def sigmoid(x):
    """The logistic function, `1 / (1 + exp(-x))`, element by element.

    Takes fp32 and fp64; the result has the operand's type and shape.
    """
    return 1 / (1 + tl.exp(-x))


@method
def softmax(x, dim=None, keep_dims=False, ieee_rounding=False):
    """The softmax along a dimension, the first one if none is given.

    Takes fp32 and fp64; the result has the operand's type and shape.
    """
    axis: tl.constexpr = 0 if dim is None else dim
    exponential = tl.exp(x - tl.max(x, axis, keep_dims=True))
    return tl.fdiv(exponential, tl.sum(exponential, axis, keep_dims=True), ieee_rounding)


@method
def ravel(x, can_reorder=False):
    """All elements of a block in one dimension, in row-major order."""
    return tl.reshape(x, x.numel)


def swizzle2d(i, j, size_i, size_j, size_g):
    """Turns a row-major index of a grid into one that runs down the columns of groups of `size_g` rows.

    The grid has `size_i` rows and `size_j` columns; the last group may have fewer rows than the others. Programs that
    run at the same time then work on nearby rows and columns. Returns the new `i` and `j`.
    """
    position = i * size_j + j
    per_group = size_g * size_j
    first_row = position // per_group * size_g
    rows = tl.minimum(size_i - first_row, size_g)
    within = position % per_group
    return first_row + within % rows, within // rows


def zeros(shape, dtype):
    """A block of a shape and a type, filled with zeros."""
    return tl.full(shape, 0, dtype)


def zeros_like(input):
    """A block of zeros with the shape and the type of another."""
    return tl.full(input.shape, 0, input.dtype)


def interleave(a, b):
    """Alternates the elements of two blocks of one shape along the last dimension.

    Two scalars give a block of two elements.
    """
    pairs = tl.join(a, b)
    if len(pairs.shape) == 1:
        return pairs
    return tl.reshape(pairs, pairs.shape[:-2] + (2 * pairs.shape[-2],))
