"""`python -m tegula script.py [args]`: runs a script that imports `triton` on tegula."""

from __future__ import annotations

import os
import runpy
import sys

from . import compat

USAGE = """\
usage: python -m tegula SCRIPT [ARGUMENT ...]
       python -m tegula -m MODULE [ARGUMENT ...]

Runs a Python script or module with `import triton` resolving to tegula."""


def main() -> int:
    arguments = sys.argv[1:]
    if arguments[:1] in (["-h"], ["--help"]):
        print(USAGE)
        return 0
    as_module = arguments[:1] == ["-m"]
    if len(arguments) <= as_module:
        print(USAGE, file=sys.stderr)
        return 2
    compat.install()
    if as_module:
        sys.argv = arguments[1:]
        sys.path[0] = os.getcwd()
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.argv = arguments
        sys.path[0] = os.path.dirname(os.path.abspath(arguments[0]))
        runpy.run_path(arguments[0], run_name="__main__")
    return 0


if __name__ == "__main__":
    sys.exit(main())
