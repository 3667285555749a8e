"""`PythonFile`: a Python file whose functions are nodes, which runs again when it changes."""

from __future__ import annotations

import runpy
import sys
import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import fusepy as fp
from fusepy.errors import FusepyError, StudioError
from fusepy.functions.device_function import DeviceFunction
from fusepy.functions.function import Function
from fusepy.rays.ray_function import RayFunction
from fusepy.studio.python_functions import PYTHON_ERRORS

_INSTALLED = ("site-packages", "dist-packages")


class PythonFile:
    """A Python file with the files of its folder that it imports, and the Slang files of its modules.

    Only the command line names such files: a document never does.
    """

    def __init__(self, path: Path):
        self.path = path
        self._imported: set[str] = set()  # modules of its folder
        self._seen: dict[Path, int | None] = {path: None}  # its files, with the time when they were written before they were read

    def run(self) -> dict[str, DeviceFunction]:
        """Runs the file, and returns its fused functions, graphs and ray-tracing pipelines by name.

        Raises:
            StudioError: if it cannot be run, or has no functions.
        """
        path, bytecode = self.path, sys.dont_write_bytecode
        self._seen = {file: written(file) for file in self._seen}
        for name in self._imported:
            sys.modules.pop(name, None)
        before = set(sys.modules)
        sys.dont_write_bytecode = True
        sys.path.insert(0, str(path.parent))
        try:
            found = runpy.run_path(str(path), run_name=path.stem)
        except (*PYTHON_ERRORS, FusepyError) as error:
            last = traceback.format_exception_only(type(error), error)[-1].strip()
            raise StudioError(f"{path.name} cannot be run", saw=last, hint=f"run it yourself: python {path.name}") from error
        finally:
            sys.path.remove(str(path.parent))
            sys.dont_write_bytecode = bytecode
            beside = {name: file for name in set(sys.modules) - before if (file := self._beside(name)) is not None}
            self._imported |= set(beside)
            self._note(beside.values())
        sources = [value._source for value in found.values() if isinstance(value, fp.Module)]  # pyright: ignore[reportPrivateUsage]
        self._note(Path(name) for s in sources for name in (s.path, *(file for file, _ in s.files)) if name)
        functions = {n: v for n, v in found.items() if _is_fused(v) and not n.startswith("_")}
        if not functions:
            hint = "put @fp.fuse above the functions that are to be nodes"
            raise StudioError(f"{path.name} has no fused functions", saw=", ".join(sorted(found)[:8]), hint=hint)
        return functions

    @property
    def changed(self) -> bool:
        """True if one of its files was written since the last run."""
        return any(written(file) != time for file, time in self._seen.items())

    def _note(self, files: Iterable[Path]) -> None:
        """Notes files that the run has read."""
        self._seen = {**{file: written(file) for file in files}, **self._seen}

    def _beside(self, name: str) -> Path | None:
        """Returns the file of a module that lies below the folder of this one and is not installed there."""
        spelled = getattr(sys.modules[name], "__file__", None)
        file = None if spelled is None else Path(spelled)
        inside = file is not None and file.is_relative_to(self.path.parent) and not set(_INSTALLED) & set(file.parts)
        return file if inside else None


def written(file: Path) -> int | None:
    """Returns when a file was written; ``None`` if it is gone."""
    return file.stat().st_mtime_ns if file.exists() else None


def _is_fused(value: Any) -> bool:
    if isinstance(value, fp.Raster):
        return False  # nothing in a graph makes vertices and indices: a fused function that draws is a node
    return isinstance(value, DeviceFunction) and (isinstance(value, RayFunction) or not isinstance(value, Function))
