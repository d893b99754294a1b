"""Programs run on many threads: results do not depend on how many, and Python goes on meanwhile."""

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import torch

import tegula as triton
import tegula.language as tl

EXAMPLES = Path(__file__).parent.parent / "examples"


def digest(threads):
    """A hash of what several kernels compute from fixed inputs, on so many threads."""
    script = textwrap.dedent("""
        import hashlib
        import numpy as np
        import attention, cross_entropy, layer_norm, matmul, softmax_online

        rng = np.random.default_rng(7)
        numbers = lambda *shape: rng.standard_normal(shape, dtype=np.float32)
        results = []
        x = numbers(37, 501)
        results.append(softmax_online.online_softmax(x, np.empty_like(x), 128))
        out, mean, scale = np.empty_like(x), np.empty(37, np.float32), np.empty(37, np.float32)
        results += [layer_norm.layer_norm(x, x[0].copy(), x[1].copy(), out, mean, scale), mean, scale]
        results += cross_entropy.cross_entropy(x, rng.integers(0, 501, 37), mean.copy(), np.empty_like(x), 64)
        q = numbers(3, 97, 32)
        results.append(attention.attention(q, numbers(3, 97, 32), q, np.empty_like(q), True, (32, 32)))
        a, b, c = numbers(150, 70), numbers(70, 90), np.empty((150, 90), np.float32)
        matmul.matmul_kernel.fn[(15,)](a, b, c, 150, 90, 70, 70, 1, 90, 1, 90, 1, 32, 32, 32, 4)
        results.append(c)
        print(hashlib.sha256(b"".join(result.tobytes() for result in results)).hexdigest())
    """)
    env = {**os.environ, "TEGULA_NUM_THREADS": str(threads)}
    run = subprocess.run([sys.executable, "-c", script], cwd=EXAMPLES, capture_output=True, text=True, env=env)
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_results_are_the_same_bits_on_any_number_of_threads():
    assert len({digest(threads) for threads in (1, 2, 3)}) == 1


@triton.jit
def spin_kernel(out_ptr, n):
    total = 0.0
    for i in range(n):
        total += tl.exp(i * -0.001)
    tl.store(out_ptr + tl.program_id(0), total)


def test_other_python_threads_run_during_a_launch():
    out = np.zeros(1, np.float32)
    spin_kernel[(1,)](out, 1)
    # Long enough to measure on any machine.
    n = 1000
    while True:
        start = time.perf_counter()
        spin_kernel[(1,)](out, n)
        if time.perf_counter() - start > 0.3:
            break
        n *= 4
    running = threading.Thread(target=lambda: spin_kernel[(1,)](out, n))
    running.start()
    ticks = 0
    while running.is_alive():
        ticks += 1
        time.sleep(0.001)
    assert ticks > 20, "the interpreter stood still while the kernel ran"


@triton.jit
def scale_kernel(x_ptr, out_ptr, factor, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
    tl.store(out_ptr + offsets, x * factor, mask=offsets < n)


def test_launches_from_many_threads_do_not_disturb_each_other():
    errors = []

    def work(number):
        x = torch.arange(1000, dtype=torch.float32) + number
        for block in (16, 32, 64, 128):
            for _ in range(20):
                out = torch.full((1000,), float("nan"))
                scale_kernel[(triton.cdiv(1000, block),)](x, out, float(number), 1000, BLOCK=block)
                if not torch.equal(out, x * number):
                    errors.append((number, block))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2, 8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors


FORKING = """
import os, sys, threading
import numpy as np
import tegula
sys.path.insert(0, sys.argv[1])
from test_threads import scale_kernel

def launch():
    x, out = np.ones(20_000, np.float32), np.zeros(20_000, np.float32)
    scale_kernel[(tegula.cdiv(20_000, 64),)](x, out, 3.0, 20_000, BLOCK=64)
    return bool((out == 3.0).all())

launch()
stop = threading.Event()

def work():
    while not stop.is_set():
        launch()

threads = [threading.Thread(target=work) for _ in range(3)]
for thread in threads:
    thread.start()
for _ in range(60):
    child = os.fork()
    if child == 0:
        os._exit(0 if launch() else 1)
    assert os.waitpid(child, 0)[1] == 0
stop.set()
for thread in threads:
    thread.join()
print("right")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_fork_amid_launches_of_other_threads():
    here = os.path.dirname(__file__)
    env = {**os.environ, "TEGULA_NUM_THREADS": "3", "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", FORKING, here], env=env, capture_output=True, text=True, timeout=120)
    assert done.stdout == "right\n", done.stderr


def test_a_forked_process_launches_on_threads_of_its_own(tmp_path):
    script = textwrap.dedent("""
        import os, sys
        import numpy as np
        import tegula as triton
        import tegula.language as tl

        @triton.jit
        def fill(out_ptr, value, BLOCK: tl.constexpr):
            tl.store(out_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), value)

        def check(value):
            out = np.zeros(4000 * 64, np.int32)
            fill[(4000,)](out, value, BLOCK=64)
            return (out == value).all()

        assert check(1)
        child = os.fork()
        if child == 0:
            os._exit(0 if check(2) else 3)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert check(3)
    """)
    (tmp_path / "fork.py").write_text(script)
    env = {**os.environ, "TEGULA_NUM_THREADS": "3"}
    subprocess.run([sys.executable, tmp_path / "fork.py"], check=True, timeout=60, env=env)


@triton.jit
def wait_for_ever(lock_ptr):
    while tl.atomic_cas(lock_ptr, 1, 1) == 0:
        pass


@pytest.mark.parametrize("programs", [1, 64])
def test_a_signal_interrupts_a_launch(programs):
    def stop(number, frame):
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, stop)
    lock = np.zeros(1, np.int32)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.3)
        with pytest.raises(KeyboardInterrupt):
            wait_for_ever[(programs,)](lock)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    lock[0] = 1
    wait_for_ever[(programs,)](lock)


@triton.jit
def fail_or_wait(lock_ptr):
    if tl.program_id(0) == 1:
        tl.device_assert(False, "nobody unlocks")
    else:
        while tl.atomic_cas(lock_ptr, 1, 1) == 0:
            pass


def test_a_failed_program_ends_those_that_wait_for_it():
    script = "import numpy, test_threads; test_threads.fail_or_wait[(2,)](numpy.zeros(1, numpy.int32))"
    env = {**os.environ, "TEGULA_NUM_THREADS": "2"}
    run = subprocess.run([sys.executable, "-c", script], cwd=Path(__file__).parent, capture_output=True, text=True,
                         env=env, timeout=60)
    assert "nobody unlocks" in run.stderr


@triton.jit
def wait_for_all(count_ptr, out_ptr):
    tl.atomic_add(count_ptr, 1)
    while tl.atomic_add(count_ptr, 0) < tl.num_programs(0):
        pass
    tl.store(out_ptr + tl.program_id(0), 1)


def test_programs_may_wait_for_as_many_as_there_are_threads():
    script = textwrap.dedent("""
        import numpy, test_threads
        out = numpy.zeros(3, numpy.int32)
        test_threads.wait_for_all[(3,)](numpy.zeros(1, numpy.int32), out)
        assert out.tolist() == [1, 1, 1]
    """)
    env = {**os.environ, "TEGULA_NUM_THREADS": "3"}
    subprocess.run([sys.executable, "-c", script], cwd=Path(__file__).parent, check=True, env=env, timeout=60)


@triton.jit
def fill_blocks(out_ptr, BLOCK: tl.constexpr):
    tl.store(out_ptr + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK), 1)


def test_a_launch_does_not_wait_for_one_of_another_thread():
    script = textwrap.dedent("""
        import threading, time
        import numpy, test_threads
        lock, out = numpy.zeros(1, numpy.int32), numpy.zeros(100_000, numpy.int32)
        waiting = threading.Thread(target=test_threads.wait_for_ever[(8,)], args=(lock,), daemon=True)
        waiting.start()
        time.sleep(0.3)
        test_threads.fill_blocks[(1000,)](out, BLOCK=100)
        assert waiting.is_alive() and out.all()
        lock[0] = 1
        waiting.join()
    """)
    env = {**os.environ, "TEGULA_NUM_THREADS": "2"}
    subprocess.run([sys.executable, "-c", script], cwd=Path(__file__).parent, check=True, env=env, timeout=60)
