"""`triton.compiler.compiler`, under which libraries look for what `triton.compiler` has."""

from . import *  # noqa: F403
