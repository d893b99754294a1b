"""A bias and a ReLU on tiles of a matrix: a grid of two dimensions, and masks that meet at the corner."""

import numpy as np
from checking import Check, Timing, element_strides, poisoned

import tegula as triton
import tegula.language as tl


@triton.jit
def bias_relu_kernel(x_ptr, bias_ptr, out_ptr, rows, cols, x_row, x_col, out_row, out_col,
                     ROWS: tl.constexpr, COLS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    col = tl.program_id(1) * COLS + tl.arange(0, COLS)[None, :]
    inside = (row < rows) & (col < cols)
    bias = tl.load(bias_ptr + col, mask=col < cols, other=0.0)
    x = tl.load(x_ptr + row * x_row + col * x_col, mask=inside, other=0.0)
    tl.store(out_ptr + row * out_row + col * out_col, tl.maximum(x + bias, 0.0), mask=inside)


def bias_relu(x, bias, out, tile=(16, 128)):
    """`out = max(x + bias, 0)`: x and out (rows, cols) with any strides, bias (cols,) contiguous."""
    rows, cols = x.shape
    grid = (triton.cdiv(rows, tile[0]), triton.cdiv(cols, tile[1]))
    bias_relu_kernel[grid](x, bias, out, rows, cols, *element_strides(x), *element_strides(out),
                           ROWS=tile[0], COLS=tile[1])
    return out


def reference(x, bias):
    return np.maximum(x.astype(np.float64) + bias, 0)


def main():
    check = Check("bias_relu")
    for rows, cols in ((1, 1), (1, 300), (17, 1), (31, 127), (64, 256), (5, 1031)):
        x, bias = check.normal(rows, cols), check.normal(cols)
        check.close(f"{rows} x {cols}", bias_relu(x, bias, poisoned(x.shape)), reference(x, bias), 1e-7)
        half, half_bias = x.astype(np.float16), bias.astype(np.float16)
        out = bias_relu(half, half_bias, poisoned(x.shape, np.float16))
        check.close(f"{rows} x {cols}, fp16", out, reference(half, half_bias), 1e-3)
    x, bias = check.normal(90, 37).T, check.normal(90)
    check.close("transposed view", bias_relu(x, bias, poisoned(x.shape)), reference(x, bias), 1e-7)
    check.report()


def timing(rng):
    x = rng.standard_normal((2048, 2048), dtype=np.float32)
    bias = rng.standard_normal(2048, dtype=np.float32)
    out = np.empty_like(x)
    return Timing(
        "bias + relu, 2048 x 2048", 8 * x.size, "GB/s",
        lambda: bias_relu(x, bias, out, (16, 256)),
        lambda: np.maximum(x + bias, 0),
    )


if __name__ == "__main__":
    main()
