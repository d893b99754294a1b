# Two commands for a fresh machine with cargo, a C compiler and Python 3.10 or newer:
#   make demo   builds and installs tegula in .venv, and runs the examples on the CPU, checked and timed beside numpy
#   make test   everything that CI checks
# The rest are steps of these. Nothing outside the folder is touched but the caches of cargo and pip.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
TARGET := $(or $(CARGO_TARGET_DIR),target)
PIP := $(BIN)/python -m pip install --quiet --disable-pip-version-check

# What the wheel is made of: it is built anew when one of these changes.
SOURCES := Cargo.toml Cargo.lock pyproject.toml README.md \
	$(shell find crates python -type f ! -name '*.so' ! -path '*/__pycache__/*' ! -path '*/tests/*' ! -path '*/benches/*')

.PHONY: demo test lint rust-tests assembler-tests python-tests simulator-tests wheel clean

demo: $(VENV)/.installed
	cd examples && ../$(BIN)/python demo.py

test: lint rust-tests assembler-tests python-tests simulator-tests

lint: $(VENV)/.test-tools
	cargo fmt --all --check
	cargo clippy --workspace --all-targets --locked --quiet -- -D warnings
	$(BIN)/ruff check .

rust-tests:
	cargo test --workspace --locked --quiet
	cargo run --package tegula --example vector_add --locked --quiet
	cargo run --package tegula --example matmul --locked --quiet

# NVIDIA's assembler accepts every instruction that is printed. cargo alone lists these tests as ignored; here a missing
# assembler fails them.
assembler-tests: $(VENV)/.test-tools
	TEGULA_PTXAS="$$(find $(CURDIR)/$(VENV) -name ptxas | head -n 1)" \
		cargo test --package tegula-ptx --test assembles --package tegula-gpu --test kernels --locked --quiet -- --ignored
	TEGULA_TEST_PACKAGES="$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')" \
		cargo test --package tegula-runtime --test assemblers --locked --quiet -- --ignored

# The command line is tested as a separate process, so it is built here.
python-tests: $(VENV)/.installed $(VENV)/.test-tools
	cargo build --package tegula --locked --quiet
	TEGULA_BINARY=$(abspath $(TARGET))/debug/tegula $(BIN)/python -m pytest tests

# Kernels through the GPU back end and the simulator: the language case by case, and other tests that speak of results.
SIMULATED := tests/conformance $(addprefix tests/test_,$(addsuffix .py,aggregates arguments atomic_access autotune bessel bulk_copies inline_assembly operands packed_weights \
	returned_constants rotated_loops simulator sort textbook))

simulator-tests: $(VENV)/.installed $(VENV)/.test-tools
	cargo build --package tegula --locked --quiet
	for target in sim:sm_80 sim:sm_90a; do \
		TEGULA_TARGET=$$target TEGULA_BINARY=$(abspath $(TARGET))/debug/tegula \
			$(BIN)/python -m pytest $(SIMULATED) || exit 1; \
	done

wheel: $(VENV)/.installed

$(VENV)/.created:
	$(PYTHON) -c 'import sys; assert sys.version_info >= (3, 10), "tegula needs Python 3.10 or newer"'
	$(PYTHON) -m venv $(VENV)
	$(PIP) 'maturin>=1.9,<2' 'numpy>=1.24'
	touch $@

$(VENV)/.installed: $(VENV)/.created $(SOURCES)
	rm -rf $(TARGET)/wheels
	$(BIN)/maturin build --release --locked --quiet --interpreter $(BIN)/python --out $(TARGET)/wheels
	$(PIP) --force-reinstall --no-deps $(TARGET)/wheels/tegula-*.whl
	touch $@

# liger-kernel would bring triton and more with it; its kernels need neither here.
$(VENV)/.test-tools: $(VENV)/.created tests/requirements.txt
	$(PIP) --requirement tests/requirements.txt
	$(PIP) --no-deps 'liger-kernel==0.8.5'
	touch $@

clean:
	rm -rf $(VENV) target
