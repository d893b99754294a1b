# *i32 i32
import triton
import triton.language as tl


@triton.jit
def kernel(out_ptr, n):
    """A return becomes an else: what follows moves into the branch that goes on."""
    pid = tl.program_id(0)
    if pid >= n:
        return
    if pid % 2 == 1:
        tl.store(out_ptr + pid, -pid)
        return
    tl.store(out_ptr + pid, pid * 10)
