"""The simulator computes what GPUs of sm_90 compute: kernels of all kinds, compared as `agreement` says.

Where there is no such GPU, the simulator is compared with itself under another order of warps: nothing depends on it.

    python -m pytest tests/hardware
"""

import agreement
import arithmetic_kernels  # noqa: F401
import block_kernels  # noqa: F401
import product_kernels  # noqa: F401
import pytest
import torch
import whole_kernels  # noqa: F401


@pytest.fixture
def peer(monkeypatch):
    if agreement.HAS_GPU:
        return agreement.on_gpu

    def in_another_order(launch):
        monkeypatch.setenv("TEGULA_SIM_SEED", "7")
        return agreement.in_simulator(launch)

    return in_another_order


@pytest.mark.parametrize("name", agreement.CASES)
def test_agreement(name, peer):
    seed = torch.seed() % 2**32
    print("seed", seed)  # pytest shows it when the test fails
    launch = agreement.CASES[name](torch.Generator().manual_seed(seed))
    verdict = agreement.compare(name, launch, agreement.in_simulator(launch), peer(launch))
    agreement.VERDICTS.append(verdict)
    assert verdict.agrees, str(verdict)


def test_there_are_enough_kernels():
    assert len(agreement.CASES) >= 40
