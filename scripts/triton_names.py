"""Writes the public names of a release of Triton to tests/data, for the test that compares them with tegula's.

    pip download --no-deps triton==3.9.0
    python scripts/triton_names.py triton-3.9.0-*.whl     # writes tests/data/triton-3.9.0.json

The modules are read as text; nothing of Triton is imported.
"""

from __future__ import annotations

import ast
import json
import sys
import zipfile
from pathlib import Path

DATA = Path(__file__).resolve().parent.parent / "tests" / "data"

#: The modules whose names users write.
MODULES = [
    "triton",
    "triton.language",
    "triton.language.math",
    "triton.language.target_info",
    "triton.language.extra.libdevice",
    "triton.language.extra.cuda.libdevice",
]


def public_names(text: str, package: bool) -> list[str]:
    """What `__all__` lists, and every other name without an underscore that a module defines, or a package imports from
    its own modules."""
    names = set()
    for node in ast.parse(text).body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            names.add(node.name)
        elif isinstance(node, ast.ImportFrom) and node.level and package:
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names.add(node.target.id)
        elif isinstance(node, ast.Assign):
            targets = [target.id for target in node.targets if isinstance(target, ast.Name)]
            names |= set(ast.literal_eval(node.value)) if targets == ["__all__"] else set(targets)
    return sorted(name for name in names if not name.startswith("_"))


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    wheel = Path(sys.argv[1])
    version = wheel.name.split("-")[1]
    names = {}
    with zipfile.ZipFile(wheel) as archive:
        files = set(archive.namelist())
        for module in MODULES:
            path = module.replace(".", "/")
            file = next((file for file in (f"{path}.py", f"{path}/__init__.py") if file in files), None)
            if file is not None:
                names[module] = public_names(archive.read(file).decode(), file.endswith("__init__.py"))
    target = DATA / f"triton-{version}.json"
    target.parent.mkdir(exist_ok=True)
    target.write_text(json.dumps(names, indent=1) + "\n")
    print(f"wrote {target}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
