"""Functions of `triton.language.core` that need nothing but other functions of the language."""


@method
def atomic_poll(pointer, expected_value, sem=None, scope=None, timeout_ns=None):
    """Waits until memory that another program writes holds an expected value, for each pointer.

    Elements are integers of 16, 32 or 64 bits. `sem` is `"acquire"` (the default) or `"relaxed"`. The result is an `int1`
    for each pointer: whether the value was seen. Without `timeout_ns` it always was; with it, memory is read at
    most so often, at least once, since no read takes less than a nanosecond. Only programs with lower indices may be
    waited for.
    """
    tl.static_assert(pointer.dtype.element_ty.is_int(), "atomic_poll waits for integers")
    seen = tl.atomic_load(pointer, sem=sem, scope=scope) == expected_value
    if timeout_ns is None:
        while not _all(seen):
            seen = seen | (tl.atomic_load(pointer, sem=sem, scope=scope) == expected_value)
    else:
        reads = tl.core.to_tensor(timeout_ns).to(tl.int64)
        while (reads > 1) & (not _all(seen)):
            seen = seen | (tl.atomic_load(pointer, sem=sem, scope=scope) == expected_value)
            reads -= 1
    return seen


def _all(condition):
    """Whether a condition, or each of a block of them, is true."""
    if len(condition.shape) == 0:
        return condition
    return tl.min(tl.ravel(condition).to(tl.int32), 0) != 0


def expect_zero(x, mask):
    """Says that numbers are zero wherever a mask is true, since they underflowed; returns them.

    Where `tl.device_assert` is checked, so is this.
    """
    tl.device_assert(x == 0, "expect_zero: a number is not zero", mask)
    return x
