"""Layer normalisation of rows, keeping each row's mean and inverse deviation for the backward pass."""

import numpy as np
from checking import Check, Timing, poisoned

import tegula as triton
import tegula.language as tl


@triton.jit
def layer_norm_kernel(x_ptr, weight_ptr, bias_ptr, out_ptr, mean_ptr, scale_ptr, stride, cols, eps,
                      BLOCK: tl.constexpr):
    row = tl.program_id(0)
    col = tl.arange(0, BLOCK)
    inside = col < cols
    x = tl.load(x_ptr + row * stride + col, mask=inside, other=0.0).to(tl.float32)
    mean = tl.sum(x, axis=0) / cols
    # The padding holds zeros, whose distance from the mean must not count.
    centred = tl.where(inside, x - mean, 0.0)
    scale = tl.rsqrt(tl.sum(centred * centred, axis=0) / cols + eps)
    weight = tl.load(weight_ptr + col, mask=inside).to(tl.float32)
    bias = tl.load(bias_ptr + col, mask=inside).to(tl.float32)
    tl.store(out_ptr + row * stride + col, centred * scale * weight + bias, mask=inside)
    tl.store(mean_ptr + row, mean)
    tl.store(scale_ptr + row, scale)


def layer_norm(x, weight, bias, out, mean, scale, eps=1e-5):
    """Normalises the rows of x (rows, cols), contiguous; weight and bias (cols,), mean and scale (rows,) fp32."""
    rows, cols = x.shape
    layer_norm_kernel[(rows,)](x, weight, bias, out, mean, scale, cols, cols, eps,
                               BLOCK=triton.next_power_of_2(cols))
    return out


def main():
    check = Check("layer_norm")
    for rows, cols in ((1, 1), (4, 3), (3, 127), (5, 1024), (2, 1537)):
        for dtype, tolerance in ((np.float32, 1e-6), (np.float16, 1e-3)):
            x = (3 * check.normal(rows, cols) + 5).astype(dtype)
            weight, bias = check.normal(cols, dtype=dtype), check.normal(cols, dtype=dtype)
            out, mean, scale = poisoned(x.shape, dtype), poisoned(rows), poisoned(rows)
            layer_norm(x, weight, bias, out, mean, scale)
            wide = x.astype(np.float64)
            expected_scale = 1 / np.sqrt(wide.var(axis=1) + 1e-5)
            normal = (wide - wide.mean(axis=1, keepdims=True)) * expected_scale[:, None]
            shape = f"{rows} x {cols}"
            check.close(shape, out, normal * weight + bias, 5 * tolerance)
            check.close(f"{shape}, mean", mean, wide.mean(axis=1), 1e-6)
            check.close(f"{shape}, scale", scale, expected_scale, 1e-5)
    check.report()


def timing(rng):
    x = rng.standard_normal((4096, 1024), dtype=np.float32)
    weight, bias = (rng.standard_normal(1024, dtype=np.float32) for _ in range(2))
    out, mean, scale = np.empty_like(x), np.empty(4096, np.float32), np.empty(4096, np.float32)

    def with_numpy():
        centred = x - x.mean(axis=1, keepdims=True)
        return centred / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + 1e-5) * weight + bias

    return Timing(
        "layer norm, 4096 x 1024", 8 * x.size, "GB/s",
        lambda: layer_norm(x, weight, bias, out, mean, scale), with_numpy,
    )


if __name__ == "__main__":
    main()
