"""Every example runs, and finds its results right."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
# `performance` measures kernels of other examples, and takes its time.
SCRIPTS = sorted({path.stem for path in EXAMPLES.glob("*.py")} - {"checking", "demo", "performance"})


@pytest.mark.parametrize("name", SCRIPTS)
def test_example(name):
    run = subprocess.run([sys.executable, f"{name}.py"], cwd=EXAMPLES, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert run.stdout.startswith(f"{name}: ") and "checks passed" in run.stdout, run.stdout


def test_the_demo_has_every_example():
    sys.path.insert(0, str(EXAMPLES))
    try:
        import demo
    finally:
        sys.path.remove(str(EXAMPLES))
    assert sorted(demo.EXAMPLES) == SCRIPTS
