"""Third-party kernels, unedited: liger-kernel on CPU tensors, forward and backward, against torch in float64.

`make test` installs liger-kernel without what it depends on. Each layer runs in a process of its own,
so that `import triton` is tegula there and nothing else is touched.
"""

import subprocess
import sys
import textwrap

HEADER = """
import tegula.compat
tegula.compat.install()
import torch
import torch.nn.functional as F

def tensor(*shape, dtype=torch.float32, scale=1.0):
    return (torch.randn(*shape) * scale).to(dtype).requires_grad_()

TOLERANCES = {torch.float32: 4e-6, torch.bfloat16: 1e-2, torch.float16: 2e-3}

def close(actual, expected, tolerance):
    assert actual.shape == expected.shape, (actual.shape, expected.shape)
    # What is all but zero is held against the size of a whole's elements.
    error = ((actual.double() - expected).norm() / expected.norm().clamp_min(1e-6)).item()
    assert error <= tolerance, (error, tolerance)

def check(function, reference, *inputs, tolerance=None):
    '''Compares results and gradients: `reference` gets the inputs in float64.'''
    tolerance = tolerance or TOLERANCES[inputs[0].dtype]
    wide = [x.detach().double().requires_grad_() for x in inputs]
    ours = [x.detach().clone().requires_grad_() for x in inputs]
    # Kernels that write gradients over their inputs may not get leaves.
    results, expected = function(*[x * 1 for x in ours]), reference(*wide)
    results, expected = [x if isinstance(x, tuple) else (x,) for x in (results, expected)]
    loss, wide_loss = 0, 0
    for result, want in zip(results, expected, strict=True):
        close(result.detach(), want.detach(), tolerance)
        weights = torch.randn(result.shape)
        loss = loss + (result * weights.to(result.dtype)).sum()
        wide_loss = wide_loss + (want * weights.to(result.dtype).double()).sum()
    loss.backward()
    wide_loss.backward()
    for x, want in zip(ours, wide, strict=True):
        assert x.grad is not None and x.grad.dtype == x.dtype
        close(x.grad, want.grad, 3 * tolerance)
"""


def run(text):
    script = HEADER + textwrap.dedent(text) + "\nprint('fine')\n"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300)
    assert result.returncode == 0 and result.stdout.endswith("fine\n"), result.stderr[-4000:]


def test_rms_norm():
    run("""
    from liger_kernel.ops.rms_norm import LigerRMSNormFunction

    def reference(x, weight, eps, offset):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + eps) * (weight + offset)

    # The gradient of a single column is all cancellation unless `eps` has a part in it.
    for shape, eps in ((1, 1, 1), 0.5), ((2, 5, 96), 1e-6), ((3, 1, 1000), 1e-6):
        for casting, offset in ("llama", 0.0), ("gemma", 1.0), ("none", 0.5):
            for in_place in False, True:
                check(
                    lambda x, w: LigerRMSNormFunction.apply(x, w, eps, offset, casting, in_place),
                    lambda x, w: reference(x, w, eps, offset),
                    tensor(*shape), tensor(shape[-1]), tolerance=2e-5 if shape[-1] == 1 else None,
                )
    for dtype in torch.bfloat16, torch.float16:
        check(
            lambda x, w: LigerRMSNormFunction.apply(x, w, 1e-5, 0.0, "gemma", False),
            lambda x, w: reference(x, w, 1e-5, 0.0),
            tensor(7, 300, dtype=dtype), tensor(300, dtype=dtype),
        )
    # Without weights; and rows that are few columns wide, many of which make a tile.
    check(
        lambda x: LigerRMSNormFunction.apply(x, None, 1e-6), lambda x: reference(x, 1.0, 1e-6, 0.0), tensor(6, 50)
    )
    check(
        lambda x, w: LigerRMSNormFunction.apply(x, w, 1e-6, 0.0, "llama", False),
        lambda x, w: reference(x, w, 1e-6, 0.0), tensor(4096 * 8 + 3, 24), tensor(24),
    )
    """)


def test_layer_norm():
    run("""
    from liger_kernel.ops.layer_norm import LigerLayerNormFunction

    for shape in (3, 2), (2, 5, 96), (3, 1, 1000), (1, 4096):
        for dtype in torch.float32, torch.bfloat16, torch.float16:
            check(
                lambda x, w, b: LigerLayerNormFunction.apply(x, w, b, 1e-5),
                lambda x, w, b: F.layer_norm(x, (shape[-1],), w, b, 1e-5),
                tensor(*shape, dtype=dtype), tensor(shape[-1], dtype=dtype), tensor(shape[-1], dtype=dtype),
                tolerance=5e-2 if shape[-1] == 2 else None,
            )
    """)


def test_rope():
    run("""
    from liger_kernel.ops.rope import LigerRopeFunction

    def rotated(x, cos, sin):
        half = x.shape[-1] // 2
        return x * cos + torch.cat((-x[..., half:], x[..., :half]), -1) * sin

    for batch, q_heads, kv_heads, length, dim, rotary in (1, 1, 1, 1, 2, 2), (2, 6, 2, 5, 64, 64), (3, 8, 4, 7, 80, 48):
        angles = torch.outer(torch.arange(length).float(), 1e4 ** -(torch.arange(0, rotary, 2).float() / rotary))
        cos, sin = (f(torch.cat((angles, angles), -1))[None] for f in (torch.cos, torch.sin))

        def reference(q, k):
            c, s = cos.double(), sin.double()
            return tuple(torch.cat((rotated(x[..., :rotary], c, s), x[..., rotary:]), -1) for x in (q, k))

        for dtype in torch.float32, torch.bfloat16:
            check(
                lambda q, k: LigerRopeFunction.apply(q, k, cos, sin), reference,
                tensor(batch, q_heads, length, dim, dtype=dtype), tensor(batch, kv_heads, length, dim, dtype=dtype),
            )
    """)


def test_swiglu():
    run("""
    from liger_kernel.ops.swiglu import LigerFusedGateUpSiLUMulFunction, LigerSiLUMulFunction

    for shape in (1, 1, 1), (2, 5, 96), (3, 1, 1000):
        for dtype in torch.float32, torch.bfloat16, torch.float16:
            for gate, down in (1.0, 1.0), (1.5, 0.5):
                check(
                    lambda a, b: LigerSiLUMulFunction.apply(a, b, gate, down),
                    lambda a, b: F.silu(a * gate) * b * down,
                    tensor(*shape, dtype=dtype), tensor(*shape, dtype=dtype),
                )
            check(
                lambda y: LigerFusedGateUpSiLUMulFunction.apply(y),
                lambda y: F.silu(y.chunk(2, -1)[0]) * y.chunk(2, -1)[1],
                tensor(shape[0] * shape[1], 2 * shape[2], dtype=dtype),
            )
    """)


def test_geglu():
    run("""
    from liger_kernel.ops.geglu import LigerGELUMulFunction

    for shape in (1, 1, 1), (2, 5, 96), (3, 1, 1000):
        for dtype in torch.float32, torch.bfloat16, torch.float16:
            check(
                LigerGELUMulFunction.apply, lambda a, b: F.gelu(a, approximate="tanh") * b,
                tensor(*shape, dtype=dtype), tensor(*shape, dtype=dtype),
            )
    """)


# Cross entropy with everything that liger adds to it, of logits in float64.
CROSS_ENTROPY = """
def cross_entropy(x, target, weight=None, smoothing=0.0, z_scale=0.0, softcap=None, reduction="mean"):
    if softcap is not None:
        x = softcap * torch.tanh(x / softcap)
    weight = None if weight is None else weight.double()
    loss = F.cross_entropy(x, target, weight, ignore_index=-100, label_smoothing=smoothing, reduction=reduction)
    z = z_scale * x.logsumexp(-1).square() * (target != -100)
    if reduction == "mean":
        z = z.sum() / (target != -100).sum()
    return loss + (z.sum() if reduction == "sum" else z)

def targets(rows, classes):
    target = torch.randint(0, classes, (rows,))
    target[::4] = -100
    target[1] = 0
    return target

OPTIONS = [
    dict(), dict(smoothing=0.1), dict(z_scale=1e-3), dict(softcap=3.0), dict(weighted=True),
    dict(smoothing=0.2, z_scale=1e-2, softcap=5.0), dict(weighted=True, smoothing=0.1, softcap=8.0),
]
"""


def test_cross_entropy():
    run(CROSS_ENTROPY + textwrap.dedent("""
    from liger_kernel.ops.cross_entropy import LigerCrossEntropyFunction

    for rows, classes in (5, 3), (9, 1000), (3, 33000):
        for options in OPTIONS:
            options = dict(options)
            weight = torch.rand(classes) + 0.5 if options.pop("weighted", False) else None
            for reduction in "mean", "sum", "none":
                target = targets(rows, classes)
                def ours(x):
                    return LigerCrossEntropyFunction.apply(
                        x, target, weight, -100, options.get("z_scale", 0.0), options.get("smoothing", 0.0), reduction,
                        options.get("softcap"),
                    )[0]
                check(
                    ours, lambda x: cross_entropy(x, target, weight, **options, reduction=reduction),
                    tensor(rows, classes, scale=3), tolerance=1e-5,
                )
    target = targets(8, 500)
    check(
        lambda x: LigerCrossEntropyFunction.apply(x, target, None, -100, 0.0, 0.0, "mean", None)[0],
        lambda x: cross_entropy(x, target), tensor(8, 500, dtype=torch.bfloat16),
    )
    logits = tensor(8, 500)
    _, z, accuracy, predicted = LigerCrossEntropyFunction.apply(
        logits * 1, target, None, -100, 1e-2, 0.0, "mean", None, True, True, True
    )
    kept = target != -100
    wide = logits.detach().double()
    close(z.detach(), 1e-2 * wide.logsumexp(-1)[kept].square().sum() / kept.sum(), 1e-5)
    assert (predicted[kept] == wide.argmax(-1)[kept]).all() and (predicted[~kept] == -1).all()
    close(accuracy, (wide.argmax(-1) == target)[kept].double().mean(), 1e-6)
    """))


def test_fused_linear_cross_entropy():
    run(CROSS_ENTROPY + textwrap.dedent("""
    from liger_kernel.ops.fused_linear_cross_entropy import LigerFusedLinearCrossEntropyFunction

    for rows, width, classes in (5, 16, 3), (13, 40, 700):
        for options in OPTIONS:
            options = dict(options)
            ce_weight = torch.rand(classes) + 0.5 if options.pop("weighted", False) else None
            for reduction in "mean", "sum", "none":
                target = targets(rows, classes)
                def ours(x, w, b):
                    return LigerFusedLinearCrossEntropyFunction.apply(
                        x, w, target, b, ce_weight, -100, options.get("z_scale", 0.0), options.get("smoothing", 0.0),
                        reduction, options.get("softcap"),
                    )[0]
                check(
                    ours,
                    lambda x, w, b: cross_entropy(x @ w.T + b, target, ce_weight, **options, reduction=reduction),
                    tensor(rows, width), tensor(classes, width, scale=0.3), tensor(classes), tolerance=1e-5,
                )
    target = targets(8, 50)
    check(
        lambda x, w: LigerFusedLinearCrossEntropyFunction.apply(x, w, target)[0],
        lambda x, w: cross_entropy(x @ w.T, target),
        tensor(8, 64, dtype=torch.bfloat16), tensor(50, 64, dtype=torch.bfloat16, scale=0.2), tolerance=2e-2,
    )
    """))


def test_kl_divergence():
    run("""
    from liger_kernel.ops.kl_div import LigerKLDivLossFunction

    for rows, classes in (1, 1), (5, 96), (3, 5000):
        for reduction in "batchmean", "mean", "sum", "none":
            for log_target in False, True:
                target = torch.randn(rows, classes).log_softmax(-1)
                target = target if log_target else target.exp()

                check(
                    lambda x: LigerKLDivLossFunction.apply(x.log_softmax(-1), target, reduction, log_target),
                    lambda x: F.kl_div(
                        x.log_softmax(-1), target.double(), log_target=log_target, reduction=reduction
                    ),
                    tensor(rows, classes), tolerance=2e-5,
                )
    """)


def test_jensen_shannon_divergence():
    run("""
    from liger_kernel.ops.jsd import LigerJSDFunction

    def jsd(x, target, labels, beta):
        p, q = target.double(), x
        if beta == 0.0:
            loss = p.exp() * (p - q)
        elif beta == 1.0:
            loss = q.exp() * (q - p)
        else:
            mixed = torch.log(beta * p.exp() + (1 - beta) * q.exp())
            loss = beta * p.exp() * (p - mixed) + (1 - beta) * q.exp() * (q - mixed)
        if labels is None:
            return loss.sum() / x.shape[0]
        return loss[labels != -100].sum() / (labels != -100).sum()

    for rows, classes in (5, 3), (7, 96), (3, 5000):
        for beta in 0.0, 0.1, 0.5, 0.9, 1.0:
            target = torch.randn(rows, classes).log_softmax(-1)
            for labels in None, torch.tensor([3, -100, 1, 0, -100, 2, 2])[:rows]:
                check(
                    lambda x: LigerJSDFunction.apply(x.log_softmax(-1), target, labels, beta),
                    lambda x: jsd(x.log_softmax(-1), target, labels, beta),
                    tensor(rows, classes), tolerance=2e-5,
                )
    """)
