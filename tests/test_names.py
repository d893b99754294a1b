"""Every public name of Triton's releases is one of tegula's, or docs/differences.md says why not."""

import importlib
import json
import re
from pathlib import Path

import pytest

import tegula.language as tl

ROOT = Path(__file__).resolve().parent.parent
RELEASES = sorted((ROOT / "tests" / "data").glob("triton-*.json"))
NAMES = {file.stem: json.loads(file.read_text()) for file in RELEASES}


def absent_names():
    """The names that docs/differences.md lists, in full, in the first column of its table of absent names."""
    text = (ROOT / "docs" / "differences.md").read_text()
    section = text.split("\n## Names that are absent\n")[1].split("\n## ")[0]
    rows = [line.split("|")[1] for line in section.splitlines() if line.startswith("| `")]
    return {name for row in rows for name in re.findall(r"`([\w.]+)`", row)}


def find(path):
    """The object at a path such as `triton.language.load`, in tegula; `None` if there is none."""
    module, _, name = path.replace("triton", "tegula", 1).rpartition(".")
    return getattr(importlib.import_module(module), name, None)


@pytest.mark.parametrize("release", NAMES)
def test_no_public_name_is_missing(release):
    paths = [f"{module}.{name}" for module, names in NAMES[release].items() for name in names]
    assert len(paths) > 500
    missing = {path for path in paths if find(path) is None}
    assert missing <= absent_names(), f"{release}: missing, and not in docs/differences.md: {missing - absent_names()}"


def test_what_is_said_to_be_absent_is_absent_and_was_in_triton():
    modules = [item for names in NAMES.values() for item in names.items()]
    triton = {f"{module}.{name}" for module, names in modules for name in names}
    assert absent_names() <= triton
    assert not {path for path in absent_names() if find(path) is not None}


def test_names_are_exported():
    for module in (tl, tl.math, tl.extra.libdevice, tl.target_info):
        assert all(hasattr(module, name) for name in module.__all__)
    assert {"load", "tuple", "target_info", "atomic_poll", "pi32_t"} <= set(tl.__all__)
