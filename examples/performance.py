"""Times kernels beside torch over many sizes, on the GPU if there is one: `python performance.py [folder for plots]`.

Every result is checked against float64 before it is timed. Needs torch; plots need matplotlib.
"""

import sys

import torch
from attention import attention_kernel
from matmul import matmul_kernel
from softmax import softmax_kernel

import tegula as triton

DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
SIZES = [512 * step for step in range(1, 17)] if DEVICE == "cuda" else [128, 256, 512]


def rate(fn, work):
    """Billions of units of work a second: at the median time, and at the 20th and 80th percentiles."""
    middle, fast, slow = triton.testing.do_bench(fn, quantiles=[0.5, 0.2, 0.8])
    return tuple(work / milliseconds * 1e-6 for milliseconds in (middle, slow, fast))


def checked(out, reference, tolerance):
    """`out`, if it is as near to the reference as that."""
    error = ((out.double() - reference).norm() / reference.norm()).item()
    if not error <= tolerance:
        raise AssertionError(f"the relative error is {error:.1e}, and should be at most {tolerance:.0e}")
    return out


def lines(x_names, sizes, name, unit):
    """A plot with a line for torch and one for tegula."""
    return triton.testing.Benchmark(
        x_names=x_names, x_vals=sizes, line_arg="provider", line_vals=["torch", "tegula"],
        line_names=["torch", "tegula"], plot_name=name, ylabel=unit, args={},
    )


@triton.testing.perf_report(lines(["columns"], SIZES, "softmax-fp32", "GB/s"))
def softmax(columns, provider):
    x = torch.randn(4096, columns, device=DEVICE)
    out = torch.full_like(x, float("nan"))

    def run():
        softmax_kernel[(4096,)](x, out, columns, columns, columns, BLOCK=triton.next_power_of_2(columns))

    run()
    checked(out, torch.softmax(x.double(), 1), 1e-5)
    return rate(run if provider == "tegula" else lambda: torch.softmax(x, 1), 2 * x.numel() * 4)


@triton.testing.perf_report(lines(["M", "N", "K"], SIZES, "matmul-bf16", "GFLOP/s"))
def matmul(M, N, K, provider):
    a, b = (torch.randn(shape, device=DEVICE, dtype=torch.bfloat16) for shape in ((M, K), (K, N)))
    c = torch.full((M, N), float("nan"), device=DEVICE, dtype=torch.bfloat16)

    def grid(meta):
        return (triton.cdiv(M, meta["BLOCK_M"]) * triton.cdiv(N, meta["BLOCK_N"]),)

    def run():
        matmul_kernel[grid](a, b, c, M, N, K, *a.stride(), *b.stride(), *c.stride())

    run()
    checked(c, a.double() @ b.double(), 5e-3)
    return rate(run if provider == "tegula" else lambda: torch.matmul(a, b), 2 * M * N * K)


@triton.testing.perf_report(lines(["length"], SIZES, "attention-bf16", "GFLOP/s"))
def attention(length, provider, heads=8, size=64):
    q, k, v = (torch.randn(heads, length, size, device=DEVICE, dtype=torch.bfloat16) for _ in range(3))
    out = torch.full_like(q, float("nan"))
    library = torch.nn.functional.scaled_dot_product_attention

    def run():
        attention_kernel[(triton.cdiv(length, 128), heads)](
            q, k, v, out, size**-0.5, length, HEAD=size, QUERIES=128, KEYS=64, CAUSAL=False, num_warps=8
        )

    run()
    checked(out, library(q.double(), k.double(), v.double()), 1e-2)
    return rate(run if provider == "tegula" else lambda: library(q, k, v), 4 * heads * length**2 * size)


if __name__ == "__main__":
    for report in (softmax, matmul, attention):
        report.run(print_data=True, save_path=sys.argv[1] if len(sys.argv) > 1 else "")
