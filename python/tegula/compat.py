"""Makes `import triton` resolve to tegula, for libraries that are not edited."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import sys
import types

#: The release of Triton whose interface tegula offers; libraries compare versions.
TRITON_VERSION = "3.6.0"


class _Loader(importlib.abc.Loader):
    """Loads `triton.NAME` as the module `tegula.NAME` itself, so that their classes are the same."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType:
        module = importlib.import_module(spec.name.replace("triton", "tegula", 1))
        self.own_spec = module.__spec__
        return module

    def exec_module(self, module: types.ModuleType) -> None:
        """The module has run already, under its own name and specification."""
        module.__spec__ = self.own_spec


class _PackageLoader(importlib.abc.Loader):
    """Loads `triton`: a module of its own, since its version is not tegula's."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        tegula = importlib.import_module("tegula")
        module.__dict__.update({name: value for name, value in vars(tegula).items() if not name.startswith("__")})
        module.__doc__ = tegula.__doc__
        module.__all__ = tegula.__all__
        module.__version__ = TRITON_VERSION


class _Finder(importlib.abc.MetaPathFinder):
    """Finds `triton` and everything below it."""

    def find_spec(self, name: str, path=None, target=None) -> importlib.machinery.ModuleSpec | None:
        if name == "triton":
            spec = importlib.machinery.ModuleSpec(name, _PackageLoader(), is_package=True)
            spec.submodule_search_locations = []
            return spec
        if not name.startswith("triton."):
            return None
        ours = name.replace("triton", "tegula", 1)
        if ours not in sys.modules and importlib.util.find_spec(ours) is None:
            return None
        return importlib.machinery.ModuleSpec(name, _Loader(), is_package=True)


def install() -> None:
    """From here on `import triton` gives tegula, with `triton.__version__` as Triton's.

    Raises `RuntimeError` if the real Triton is already imported: its objects cannot be replaced.
    """
    loaded = sys.modules.get("triton")
    if loaded is not None and not isinstance(getattr(loaded.__spec__, "loader", None), _PackageLoader):
        raise RuntimeError("Triton is already imported; call `tegula.compat.install()` before anything imports it")
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


def uninstall() -> None:
    """Undoes `install`: `import triton` finds the real one again, if there is one."""
    sys.meta_path[:] = [finder for finder in sys.meta_path if not isinstance(finder, _Finder)]
    loaded = sys.modules.get("triton")
    if loaded is not None and isinstance(getattr(loaded.__spec__, "loader", None), _PackageLoader):
        for name in [name for name in sys.modules if name == "triton" or name.startswith("triton.")]:
            del sys.modules[name]
