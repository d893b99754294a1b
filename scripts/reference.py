"""Writes the part of docs/language.md that lists the functions, from the compiler's table of them.

    python scripts/reference.py            # writes what follows the marker in docs/language.md
    python scripts/reference.py --check    # exits with 1 if it is not what would be written

What precedes the marker is written by hand. Needs an installed tegula.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tegula import _native

TARGET = Path(__file__).resolve().parent.parent / "docs" / "language.md"
MARKER = "<!-- What follows is written by scripts/reference.py. -->\n"

#: The functions by what they are for, in the order of the page.
GROUPS = {
    "Programs": "program_id num_programs swizzle2d",
    "Making blocks": "arange full zeros zeros_like to_tensor cast",
    "Memory": "load store make_block_ptr advance make_tensor_descriptor load_tensor_descriptor store_tensor_descriptor",
    "Atomic operations": "atomic_add atomic_max atomic_min atomic_and atomic_or atomic_xor atomic_xchg atomic_cas "
    "atomic_load atomic_store atomic_poll",
    "Arithmetic": "add sub mul fdiv div_rn cdiv fma umulhi abs maximum minimum clamp where",
    "Mathematics": "ceil floor cos sin exp exp2 log log2 sqrt sqrt_rn rsqrt erf sigmoid softmax",
    "Shapes": "reshape view ravel item expand_dims squeeze unsqueeze broadcast broadcast_to trans permute join split "
    "interleave cat flip gather",
    "Products of matrices": "dot dot_scaled",
    "Reductions": "sum max min argmax argmin xor_sum reduce_or reduce histogram",
    "Scans and sorting": "cumsum cumprod associative_scan sort topk bitonic_merge",
    "Functions of scalars": "map_elementwise inline_asm_elementwise",
    "Random numbers": "rand randn randint rand4x randn4x randint4x philox philox_impl uint_to_uniform_float "
    "pair_uniform_to_normal",
    "Loops": "range static_range condition",
    "Promises to the compiler": "assume multiple_of max_contiguous max_constancy expect_zero debug_barrier",
    "Printing and checking": "device_print device_assert static_print static_assert",
    "The target": "is_cuda cuda_capability_geq is_hip is_hip_cdna3 is_hip_cdna4 is_hip_gfx1250",
}

#: Where functions are looked for: `tl.core` has a few of its own, as Triton's does.
MODULES = ["", "math", "standard", "random", "core", "target_info"]


def functions() -> dict[str, _native.LanguageFunction]:
    """The functions of the language by name, but for those of libdevice."""
    found: dict[str, _native.LanguageFunction] = {}
    for path in MODULES:
        for function in _native.language_functions(path):
            found.setdefault(function.__name__, function)
    return found


def paragraphs(documentation: str) -> str:
    return "\n".join(line.strip() for line in documentation.strip().splitlines())


def entry(function: _native.LanguageFunction) -> str:
    """The description of a function with its example."""
    name = function.__name__
    place = f"tl.{function.path}." if function.path else "tl."
    if name == "item":
        place = "x."
    parameters = function.parameters if place != "x." else ""
    lines = [f"### {name}", "", f"`{place}{name}({parameters})`", "", paragraphs(function.documentation), ""]
    if function.method and place != "x.":
        first = function.parameters.split(",")[0].split("=")[0].strip()
        lines += [f"Also a method: `{first}.{name}(...)`.", ""]
    text, result = function.example
    comment = f"\n# {result}" if result else ""
    return "\n".join([*lines, f"```python\n{text}{comment}\n```\n"])


def table(path: str) -> str:
    """The table of the functions of a module."""
    rows = ["| function | what it computes |", "|---|---|"]
    for function in _native.language_functions(path):
        first = paragraphs(function.documentation).split("\n\n")[0].replace("\n", " ").replace("|", "\\|")
        rows.append(f"| `{function.__name__}({function.parameters})` | {first} |")
    return "\n".join(rows) + "\n"


def generated() -> str:
    """Everything after the marker."""
    known = functions()
    grouped = [name for names in GROUPS.values() for name in names.split()]
    if set(grouped) != set(known):
        unplaced, unknown = set(known) - set(grouped), set(grouped) - set(known)
        raise SystemExit(f"scripts/reference.py: functions in no group: {unplaced}; names of no function: {unknown}")
    parts = []
    for title, names in GROUPS.items():
        parts.append(f"\n## {title}\n\n" + "\n".join(entry(known[name]) for name in names.split()))
    parts.append(
        "\n## libdevice\n\n"
        "`tl.extra.libdevice` (also `triton.language.extra.cuda.libdevice`) has NVIDIA's names. The functions work\n"
        "element by element on blocks, which broadcast together; those of floats take fp32 and fp64.\n\n"
    )
    parts.append(table("extra.libdevice"))
    parts.append(
        "\n## Of NVIDIA's GPUs\n\n"
        "`tl.extra.cuda` has what these GPUs alone tell; kernels for the CPU ask `tl.target_info.is_cuda()` first.\n"
        "\n"
    )
    parts.append(table("extra.cuda"))
    return "".join(parts)


def document() -> str:
    """The whole page: what is written by hand, and what is generated."""
    written, marker, _ = TARGET.read_text().partition(MARKER)
    if not marker:
        raise SystemExit(f"{TARGET} has no line `{MARKER.strip()}`")
    return written + marker + generated()


def main() -> int:
    parser = argparse.ArgumentParser(description="Writes the list of functions in docs/language.md.")
    parser.add_argument("--check", action="store_true", help="write nothing; exit with 1 if the page is out of date")
    check = parser.parse_args().check
    text = document()
    if TARGET.read_text() == text:
        return 0
    if check:
        print(f"{TARGET} is out of date: run `python scripts/reference.py`", file=sys.stderr)
        return 1
    TARGET.write_text(text)
    print(f"wrote {TARGET}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
