"""Wrong kernels and calls: what is said of them, word by word."""

import gallery
import pytest


@pytest.mark.parametrize("entry", gallery.entries(), ids=lambda entry: entry.stem)
def test_gallery(entry):
    expected = entry.with_suffix(".txt").read_text()
    assert gallery.said(entry) == expected, "if the new message is better: python tests/gallery.py --update"


@pytest.mark.parametrize("entry", gallery.entries(), ids=lambda entry: entry.stem)
def test_messages_point_at_a_marked_line(entry):
    """A line of the kernel that is marked `# <--` is quoted or named; calls without a kernel's fault have none."""
    marked = [number for number, line in enumerate(entry.read_text().splitlines(), 1) if "# <--" in line]
    text = entry.with_suffix(".txt").read_text()
    assert "nothing was raised" not in text
    if marked:
        assert any(f"{entry.name}:{number}:" in text for number in marked), text


#: What an interpreted launch finds by itself, or may well do: numpy works there, and it runs on the CPU.
FOUND_WHILE_RUNNING = (
    "failed_device_assertion",
    "lanes_beyond_the_array",
    "mask_of_the_wrong_extent",
    "numpy_in_a_kernel",
    "read_only_array",
    "tensor_of_the_cpu",
)
ALIKE = [entry for entry in gallery.entries() if entry.stem not in FOUND_WHILE_RUNNING]


@pytest.mark.parametrize("entry", ALIKE, ids=lambda entry: entry.stem)
def test_interpreted_kernels_are_told_the_same(entry, monkeypatch):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    assert gallery.said(entry) == entry.with_suffix(".txt").read_text()
