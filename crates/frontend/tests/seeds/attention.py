# *fp16 *fp16 *fp16 *fp32 fp32 i32 32 64 64 True
import triton
import triton.language as tl


@triton.jit
def kernel(q_ptr, k_ptr, v_ptr, out_ptr, scale, length, HEAD: tl.constexpr, QUERIES: tl.constexpr, KEYS: tl.constexpr,
           CAUSAL: tl.constexpr):
    first = tl.program_id(1).to(tl.int64) * length * HEAD
    query = tl.program_id(0) * QUERIES + tl.arange(0, QUERIES)
    key = tl.arange(0, KEYS)
    feature = tl.arange(0, HEAD)
    q = tl.load(q_ptr + first + query[:, None] * HEAD + feature[None, :], mask=query[:, None] < length, other=0.0)
    largest = tl.full([QUERIES], -float("inf"), tl.float32)
    total = tl.zeros([QUERIES], tl.float32)
    out = tl.zeros((QUERIES, HEAD), tl.float32)
    end = tl.minimum(length, (tl.program_id(0) + 1) * QUERIES) if CAUSAL else length
    for start in tl.range(0, end, KEYS):
        inside = start + key[:, None] < length
        places = first + (start + key)[:, None] * HEAD + feature[None, :]
        k = tl.load(k_ptr + places, mask=inside, other=0.0)
        score = tl.dot(q, tl.trans(k)) * scale
        allowed = start + key[None, :] < length
        if CAUSAL:
            allowed = allowed & (query[:, None] >= start + key[None, :])
        score = tl.where(allowed, score, -float("inf"))
        new_largest = tl.maximum(largest, tl.max(score, 1))
        weight = tl.exp(score - new_largest[:, None])
        shrink = tl.exp(largest - new_largest)
        total = total * shrink + tl.sum(weight, axis=1)
        v = tl.load(v_ptr + places, mask=inside, other=0.0)
        out = tl.dot(weight.to(v.dtype), v, out * shrink[:, None])
        largest = new_largest
    tl.store(out_ptr + first + query[:, None] * HEAD + feature[None, :], out / total[:, None], mask=query[:, None] < length)
