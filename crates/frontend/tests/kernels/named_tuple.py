# *i32 i32
import collections

import triton
import triton.language as tl


Interval = collections.namedtuple("Interval", ["low", "high"])


@triton.jit
def shifted(interval, by=1):
    return Interval(interval.low + by, high=interval.high + by)


@triton.jit
def kernel(out_ptr, n):
    interval = Interval(0, n)
    for i in range(n):
        interval = shifted(interval, by=i)
    tl.store(out_ptr, shifted(interval).high)
