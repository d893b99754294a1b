"""Attention without the matrix of scores: keys pass by in tiles, and the softmax is corrected as they do."""

import numpy as np
from checking import Check, Timing, poisoned

import tegula as triton
import tegula.language as tl


@triton.jit
def attention_kernel(q_ptr, k_ptr, v_ptr, out_ptr, scale, length, HEAD: tl.constexpr, QUERIES: tl.constexpr,
                     KEYS: tl.constexpr, CAUSAL: tl.constexpr):
    head = tl.program_id(1).to(tl.int64)
    first = head * length * HEAD
    query = tl.program_id(0) * QUERIES + tl.arange(0, QUERIES)
    feature = tl.arange(0, HEAD)
    places = first + query[:, None] * HEAD + feature[None, :]
    q = tl.load(q_ptr + places, mask=query[:, None] < length, other=0.0)
    largest = tl.full([QUERIES], -float("inf"), tl.float32)
    total = tl.zeros([QUERIES], tl.float32)
    mixed = tl.zeros([QUERIES, HEAD], tl.float32)
    # A causal row sees no key beyond itself, so the tiles beyond this program's last row are never read.
    end = min((tl.program_id(0) + 1) * QUERIES, length) if CAUSAL else length
    for start in range(0, end, KEYS):
        key = start + tl.arange(0, KEYS)
        k = tl.load(k_ptr + first + key[None, :] * HEAD + feature[:, None], mask=key[None, :] < length, other=0.0)
        v = tl.load(v_ptr + first + key[:, None] * HEAD + feature[None, :], mask=key[:, None] < length, other=0.0)
        seen = key[None, :] < length
        if CAUSAL:
            seen = seen & (key[None, :] <= query[:, None])
        score = tl.where(seen, tl.dot(q, k) * scale, -float("inf"))
        grown = tl.maximum(largest, tl.max(score, axis=1))
        weight = tl.exp(score - grown[:, None])
        shrink = tl.exp(largest - grown)
        total = total * shrink + tl.sum(weight, axis=1)
        mixed = tl.dot(weight.to(v.dtype), v, mixed * shrink[:, None])
        largest = grown
    out = mixed / total[:, None]
    tl.store(out_ptr + places, out.to(out_ptr.dtype.element_ty), mask=query[:, None] < length)


def attention(q, k, v, out, causal=False, tile=(64, 64)):
    """`out = softmax(q @ k.T / sqrt(head)) @ v`: all (heads, length, head), contiguous, head a power of two."""
    heads, length, size = q.shape
    attention_kernel[(triton.cdiv(length, tile[0]), heads)](
        q, k, v, out, size**-0.5, length, HEAD=size, QUERIES=tile[0], KEYS=tile[1], CAUSAL=causal
    )
    return out


def reference(q, k, v, causal):
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    score = q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5
    if causal:
        score = np.where(np.tri(q.shape[-2], dtype=bool), score, -np.inf)
    weight = np.exp(score - score.max(axis=-1, keepdims=True))
    return weight / weight.sum(axis=-1, keepdims=True) @ v


def main():
    check = Check("attention")
    for heads, length, size in ((1, 1, 16), (2, 64, 32), (3, 97, 64), (1, 130, 16)):
        for causal in (False, True):
            what = f"{heads} x {length} x {size}{', causal' if causal else ''}"
            q, k, v = (check.normal(heads, length, size) for _ in range(3))
            out = attention(q, k, v, poisoned(q.shape), causal, (32, 16))
            check.close(what, out, reference(q, k, v, causal), 1e-5)
            q, k, v = (x.astype(np.float16) for x in (q, k, v))
            out = attention(q, k, v, poisoned(q.shape, np.float16), causal, (32, 16))
            check.close(f"{what}, fp16", out, reference(q, k, v, causal), 2e-3)
    check.report()


def timing(rng):
    heads, length, size = 4, 1024, 64
    q, k, v = (rng.standard_normal((heads, length, size), dtype=np.float32) for _ in range(3))
    out = np.empty_like(q)

    def with_numpy():
        score = q @ k.swapaxes(-1, -2) * np.float32(size**-0.5)
        weight = np.exp(score - score.max(axis=-1, keepdims=True))
        return weight / weight.sum(axis=-1, keepdims=True) @ v

    work = 4 * heads * length * length * size
    return Timing("attention, 4 x 1024 x 64", work, "GFLOP/s", lambda: attention(q, k, v, out), with_numpy)


if __name__ == "__main__":
    main()
