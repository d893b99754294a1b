"""Results of autotuning on disk, so that another process need not time what one has timed (`cache_results=True`).

An entry is a JSON file of each configuration's timings, named by a hash of what they depend on: the kernel's text, the
configurations, the key of the call, the device, and the version of tegula. A damaged entry counts as absent.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from pathlib import Path
from typing import Any

from .. import _native


def place(kernel: Any, configs: list[Any], key: tuple[Any, ...], device: str) -> Path | None:
    """Where the timings are kept; `None` without a cache."""
    folder = _native.cache_folder()
    if folder is None:
        return None
    ingredients = [_native.__version__, device, kernel.raw_src, repr(key), *map(str, configs)]
    digest = hashlib.sha256("\0".join(ingredients).encode()).hexdigest()
    return Path(folder) / "autotuning" / f"{digest}.json"


def read(path: Path, configs: list[Any]) -> dict[Any, list[float]] | None:
    """The timings by configuration; `None` if there are none."""
    try:
        rows = json.loads(path.read_text())
        timings = {configs[index]: [float(time) for time in times] for index, times in rows}
    except (OSError, ValueError, TypeError, LookupError):
        return None
    return timings or None


def write(path: Path, configs: list[Any], timings: dict[Any, Any]) -> None:
    """Keeps timings. A folder that cannot be written to is no error: the next process times anew."""
    rows = [[configs.index(config), list(times)] for config, times in timings.items()]
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent)
        with os.fdopen(handle, "w") as file:
            json.dump(rows, file)
        Path(temporary).replace(path)
