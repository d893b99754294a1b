"""Cross entropy of logits and its gradient, in two passes over each row; targets of -100 are ignored."""

import numpy as np
from checking import Check, Timing, poisoned

import tegula as triton
import tegula.language as tl


@triton.jit
def cross_entropy_kernel(logits_ptr, target_ptr, loss_ptr, grad_ptr, stride, classes, IGNORED: tl.constexpr,
                         BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    logits_ptr += row * stride
    grad_ptr += row * stride
    target = tl.load(target_ptr + row)
    if target == IGNORED:
        for start in range(0, classes, BLOCK):
            col = start + tl.arange(0, BLOCK)
            tl.store(grad_ptr + col, tl.zeros([BLOCK], tl.float32), mask=col < classes)
        tl.store(loss_ptr + row, 0.0)
        return
    largest = tl.full([], -float("inf"), tl.float32)
    total = tl.full([], 0.0, tl.float32)
    for start in range(0, classes, BLOCK):
        col = start + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + col, mask=col < classes, other=-float("inf")).to(tl.float32)
        grown = tl.maximum(largest, tl.max(x, axis=0))
        total = total * tl.exp(largest - grown) + tl.sum(tl.exp(x - grown), axis=0)
        largest = grown
    log_total = largest + tl.log(total)
    tl.store(loss_ptr + row, log_total - tl.load(logits_ptr + target).to(tl.float32))
    for start in range(0, classes, BLOCK):
        col = start + tl.arange(0, BLOCK)
        x = tl.load(logits_ptr + col, mask=col < classes, other=0.0).to(tl.float32)
        probability = tl.exp(x - log_total)
        tl.store(grad_ptr + col, tl.where(col == target, probability - 1.0, probability), mask=col < classes)


def cross_entropy(logits, target, loss, grad, block=4096):
    """Losses (rows,) and gradients (rows, classes) of logits (rows, classes), contiguous; target (rows,) int64."""
    rows, classes = logits.shape
    cross_entropy_kernel[(rows,)](logits, target, loss, grad, classes, classes, IGNORED=-100, BLOCK=block)
    return loss, grad


def reference(logits, target):
    logits = logits.astype(np.float64)
    rows = np.arange(len(target))
    shifted = logits - logits.max(axis=1, keepdims=True)
    log_probability = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    counted = target != -100
    place = np.where(counted, target, 0)
    grad = np.exp(log_probability)
    grad[rows, place] -= 1
    return np.where(counted, -log_probability[rows, place], 0), grad * counted[:, None]


def main():
    check = Check("cross_entropy")
    for rows, classes, block in ((1, 2, 64), (5, 64, 64), (7, 1000, 128), (3, 32003, 4096)):
        logits = 3 * check.normal(rows, classes)
        target = check.rng.integers(0, classes, rows)
        if rows > 2:
            target[1] = -100
        loss, grad = cross_entropy(logits, target, poisoned(rows), poisoned(logits.shape), block)
        expected_loss, expected_grad = reference(logits, target)
        shape = f"{rows} x {classes} by {block}"
        check.close(f"{shape}, loss", loss, expected_loss, 1e-6, size=1)
        check.close(f"{shape}, gradient", grad, expected_grad, 1e-5, size=1 / classes)
        check.equal(f"{shape}, ignored rows", grad[target == -100], 0 * grad[target == -100])
    check.report()


def timing(rng):
    logits = rng.standard_normal((128, 32000), dtype=np.float32)
    target = rng.integers(0, 32000, 128)
    loss, grad = np.empty(128, np.float32), np.empty_like(logits)
    rows = np.arange(128)

    def with_numpy():
        shifted = logits - logits.max(axis=1, keepdims=True)
        weight = np.exp(shifted)
        total = weight.sum(axis=1, keepdims=True)
        weight /= total
        weight[rows, target] -= 1
        return np.log(total[:, 0]) - shifted[rows, target], weight

    return Timing(
        "cross entropy, 128 x 32000", 12 * logits.size, "GB/s",
        lambda: cross_entropy(logits, target, loss, grad), with_numpy,
    )


if __name__ == "__main__":
    main()
