"""A bar on the terminal for what takes long enough that people wonder."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

#: Seconds before which nothing is shown.
_PATIENCE = 1.0


@contextlib.contextmanager
def progress(title: str, steps: int) -> Iterator[Callable[[], None]]:
    """A function to be called after each of `steps`.

    A bar is shown after a second, on a terminal, where tqdm is installed.
    """
    try:
        from tqdm import tqdm
    except ImportError:
        yield lambda: None
        return
    # `disable=None`: only on a terminal. `leave=False`: gone when all is done.
    with tqdm(total=steps, desc=title, delay=_PATIENCE, disable=None, leave=False) as bar:
        yield lambda: bar.update()
