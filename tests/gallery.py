"""The gallery of wrong kernels: each file of gallery/ with what is said of it, in the .txt beside it.

    python tests/gallery.py            shows what would change
    python tests/gallery.py --update   writes what is said now; read the difference before you commit it
"""

import argparse
import os
import re
import runpy
import sys
import warnings
from pathlib import Path

import tegula

FOLDER = Path(__file__).parent / "gallery"


def entries():
    """The kernels, in alphabetical order."""
    return sorted(FOLDER.glob("*.py"))


def said(entry):
    """What a user reads who launches the kernel: the class of the exception, or warning, and its message."""
    # Relative paths, so that messages are the same in every checkout.
    before = os.getcwd()
    os.chdir(FOLDER)
    try:
        launch = runpy.run_path(entry.name)["launch"]
        try:
            with warnings.catch_warnings():
                # Warnings come before the launch: none of the faulty accesses happens.
                warnings.simplefilter("error", tegula.KernelWarning)
                launch()
        except Exception as error:
            text = f"{type(error).__module__}.{type(error).__qualname__}: {error}"
            text = text.replace(f"{FOLDER}{os.sep}", "")
            return re.sub(r"0x[0-9a-f]{6,}", "ADDRESS", text).rstrip() + "\n"
        return "nothing was raised\n"
    finally:
        os.chdir(before)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="write the messages")
    update = parser.parse_args().update
    changed = 0
    for entry in entries():
        expected = entry.with_suffix(".txt")
        now = said(entry)
        before = expected.read_text() if expected.exists() else ""
        if now != before:
            changed += 1
            print(f"--- {entry.name}\n{now}")
            if update:
                expected.write_text(now)
    print(f"{changed} messages {'written' if update else 'differ'}")
    return 0 if update or not changed else 1


if __name__ == "__main__":
    sys.exit(main())
