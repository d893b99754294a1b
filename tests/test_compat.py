"""`import triton` resolving to tegula, and the parts of the package that libraries look at."""

import subprocess
import sys
import textwrap

import pytest

import tegula
import tegula.testing

torch = pytest.importorskip("torch")


def run(code, *arguments):
    """Runs code in a process of its own, where nothing has been imported yet."""
    return subprocess.run(
        [sys.executable, *arguments, "-c", textwrap.dedent(code)], capture_output=True, text=True, check=False
    )


def test_install():
    done = run("""
        import tegula.compat
        tegula.compat.install()
        tegula.compat.install()
        import triton, triton.language as tl, triton.testing
        import triton.language.math, triton.language.extra.libdevice, triton.language.extra.cuda.libdevice
        import triton.runtime.driver, triton.runtime.errors, triton.runtime.jit, triton.compiler.errors
        import triton.backends.compiler, triton.tools.tensor_descriptor
        from triton.language.extra import libdevice
        from triton.runtime.autotuner import Autotuner
        import tegula, tegula.language, sys
        assert triton.__version__ == "3.6.0" and tegula.__version__ != "3.6.0"
        assert tl is tegula.language and triton.jit is tegula.jit and triton.runtime is tegula.runtime
        assert triton.CompilationError is triton.compiler.errors.CompilationError is tegula.CompilationError
        assert issubclass(triton.runtime.errors.OutOfResources, triton.TritonError)
        assert tegula.runtime.__spec__.name == "tegula.runtime" and tegula.runtime.__name__ == "tegula.runtime"
        try:
            import triton.nothing_of_this_name
        except ModuleNotFoundError as error:
            assert "triton.nothing_of_this_name" in str(error)
        else:
            raise AssertionError
        tegula.compat.uninstall()
        assert "triton" not in sys.modules and "triton.language" not in sys.modules
        assert "tegula.language" in sys.modules
        print("done")
        """)
    assert done.stdout == "done\n", done.stderr


def test_the_compiler_of_torch_can_be_imported():
    done = run("""
        import tegula.compat
        tegula.compat.install()
        import torch._inductor.runtime.hints, torch._inductor.runtime.triton_compat
        from torch.utils._triton import has_triton_package
        assert has_triton_package() and torch._inductor.runtime.triton_compat.triton_key().startswith("tegula-")
        print("done")
        """)
    assert done.stdout == "done\n", done.stderr


def test_the_real_triton_is_not_replaced():
    done = run("""
        import sys, types, importlib.machinery
        sys.modules["triton"] = triton = types.ModuleType("triton")
        triton.__spec__ = importlib.machinery.ModuleSpec("triton", None)
        import tegula.compat
        tegula.compat.install()
        """)
    assert "RuntimeError" in done.stderr and "already imported" in done.stderr


SCRIPT = """
import sys
import numpy as np
import triton
import triton.language as tl

@triton.jit
def fill(out_ptr, value):
    tl.store(out_ptr + tl.arange(0, 4), value)

out = np.zeros(4, np.int32)
fill[(1,)](out, int(sys.argv[1]))
print(__name__, out.tolist(), sys.argv[1:])
"""


@pytest.mark.parametrize("as_module", [False, True])
def test_running_a_script(tmp_path, as_module):
    (tmp_path / "script.py").write_text(SCRIPT)
    target = ["-m", "script"] if as_module else [str(tmp_path / "script.py")]
    done = subprocess.run(
        [sys.executable, "-m", "tegula", *target, "7", "--flag"],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.stdout == "__main__ [7, 7, 7, 7] ['7', '--flag']\n", done.stderr


def test_running_nothing():
    done = subprocess.run([sys.executable, "-m", "tegula"], capture_output=True, text=True, check=False)
    assert done.returncode == 2 and "usage: python -m tegula" in done.stderr
    done = subprocess.run([sys.executable, "-m", "tegula", "--help"], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "usage: python -m tegula" in done.stdout


def test_importing_needs_neither_torch_nor_numpy():
    done = run("""
        import sys
        sys.modules["torch"] = sys.modules["numpy"] = None
        import tegula, tegula.language, tegula.testing
        assert tegula.cdiv(7, 2) == 4
        assert tegula.testing.do_bench(lambda: None, warmup=0, rep=1) >= 0
        """)
    assert done.returncode == 0, done.stderr


def test_the_driver():
    active = tegula.runtime.driver.active
    assert active.get_current_device() == 0 and active.get_current_target().backend == "cpu"
    assert active.utils.get_device_properties(0)["multiprocessor_count"] >= 1
    assert active.get_active_torch_device() == torch.device("cpu")


def test_exceptions_can_be_pickled():
    import pickle

    error = tegula.CompilationError("a message", [("m", "f.py", 1, 2)])
    again = pickle.loads(pickle.dumps(error))
    assert str(again) == "a message" and again.places == error.places
    again = pickle.loads(pickle.dumps(tegula.OutOfResources(300, 200, "shared memory")))
    assert "300" in str(again) and "200" in str(again) and "shared memory" in str(again)


def test_tensor_descriptors_check_their_parts():
    from tegula.tools.tensor_descriptor import TensorDescriptor

    x = torch.zeros(8, 16)
    descriptor = TensorDescriptor.from_tensor(x, [4, 8])
    assert descriptor.shape == [8, 16] and descriptor.strides == [16, 1] and descriptor.padding == "zero"
    with pytest.raises(ValueError, match="contiguous"):
        TensorDescriptor.from_tensor(x.t(), [4, 8])
    with pytest.raises(ValueError, match="one length"):
        TensorDescriptor(x, [8, 16], [16, 1], [4])
    with pytest.raises(ValueError, match=r"zero.*nan"):
        TensorDescriptor(x, [8, 16], [16, 1], [4, 4], padding="one")
    with pytest.raises(ValueError, match="NaN"):
        TensorDescriptor(x.int(), [8, 16], [16, 1], [4, 4], padding="nan")


def test_do_bench():
    calls = []
    times = tegula.testing.do_bench(lambda: calls.append(1), warmup=0, rep=1, return_mode="all")
    assert len(times) >= 1 and times == sorted(times) and len(calls) >= len(times)
    low, high = tegula.testing.do_bench(lambda: None, warmup=0, rep=1, quantiles=[0.0, 1.0])
    assert 0 <= low <= high
    for mode in ("min", "max", "mean", "median"):
        assert tegula.testing.do_bench(lambda: None, warmup=0, rep=1, return_mode=mode) >= 0
    x = torch.ones(2, requires_grad=True)
    x.sum().backward()
    tegula.testing.do_bench(lambda: None, warmup=0, rep=1, grad_to_none=[x])
    assert x.grad is None
    with pytest.raises(ValueError, match="return_mode"):
        tegula.testing.do_bench(lambda: None, return_mode="average")


def test_assert_close():
    x = torch.tensor([1.0, float("nan")], dtype=torch.bfloat16)
    tegula.testing.assert_close(x, x.double())
    tegula.testing.assert_close([1, 2], torch.tensor([1, 2]))
    tegula.testing.assert_close(1.0, 1.009)
    with pytest.raises(AssertionError):
        tegula.testing.assert_close(1.0, 1.02)
    with pytest.raises(AssertionError):
        tegula.testing.assert_close(x, x + 1, rtol=0.1, atol=0)


def test_perf_report(tmp_path, capsys):
    bench = tegula.testing.Benchmark(
        x_names=["n", "m"],
        x_vals=[1, (2, 3)],
        line_arg="how",
        line_vals=["sum", "product"],
        line_names=["Sum", "Product"],
        plot_name="",
        args={"scale": 10},
        ylabel="units",
    )

    @tegula.testing.perf_report(bench)
    def measure(n, m, how, scale):
        return scale * (n + m if how == "sum" else n * m)

    measure.run(print_data=True)
    rows = [line.split() for line in capsys.readouterr().out.splitlines()[1:]]
    assert rows == [["n", "m", "Sum", "(units)", "Product", "(units)"], ["1", "1", "20", "10"], ["2", "3", "50", "60"]]
    measure.run(save_path=str(tmp_path))
    assert (tmp_path / ".csv").read_text().splitlines()[1] == "1,1,20,10"
