# (*i32,i32,5) *fp32
import triton
import triton.language as tl


@triton.jit
def kernel(task, out_ptr):
    pointer, *numbers = task
    n, five = numbers
    for shift in (0, 3):
        pointer += shift
    doubled = [v * 2 for v in numbers if True]
    tl.static_assert(len(doubled) == 2 and task[2] == 5 and task[-1] in (4, 5))
    tl.store(pointer, n + five + doubled[0] + sum((1, 2)) + max(1, n))
