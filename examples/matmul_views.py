"""Products of transposed matrices without transposing anything: A @ B, A.T @ B, A @ B.T and A.T @ B.T.

A transposed view is the same memory with its strides exchanged, and the kernel of `matmul.py` takes any strides.
"""

import numpy as np
from checking import Check, Timing, poisoned
from matmul import matmul


def main():
    check = Check("matmul_views")
    for rows, cols, inner in ((64, 64, 64), (1, 70, 35), (37, 51, 129)):
        a, b = check.normal(rows, inner), check.normal(inner, cols)
        # The same numbers in the other memory order: .T of these is a view with the shape of a and b.
        a_stored, b_stored = np.ascontiguousarray(a.T), np.ascontiguousarray(b.T)
        reference = a.astype(np.float64) @ b.astype(np.float64)
        for what, left, right in (
            ("A @ B", a, b),
            ("A.T @ B", a_stored.T, b),
            ("A @ B.T", a, b_stored.T),
            ("A.T @ B.T", a_stored.T, b_stored.T),
        ):
            what = f"{what}, {rows} x {cols} x {inner}"
            check.close(what, matmul(left, right, poisoned((rows, cols))), reference, 1e-6)
            check.close(f"{what}, transposed result", matmul(left, right, poisoned((cols, rows)).T), reference, 1e-6)
    a, b = check.normal(100, 100), check.normal(60, 200)
    out = matmul(a[::2, 5:65], b[:, ::3], poisoned((50, 67)))
    check.close("every second row, every third column", out,
                a[::2, 5:65].astype(np.float64) @ b[:, ::3].astype(np.float64), 1e-6)
    check.report()


def timing(rng):
    a, b = (rng.standard_normal((512, 512), dtype=np.float32) for _ in range(2))
    c, c_numpy = np.empty_like(a), np.empty_like(a)
    return Timing(
        "matmul fp32 A @ B.T, 512", 2 * 512**3, "GFLOP/s",
        lambda: matmul(a, b.T, c),
        lambda: np.matmul(a, b.T, out=c_numpy),
    )


if __name__ == "__main__":
    main()
