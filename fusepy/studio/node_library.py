"""`Library`: the kinds of nodes that a studio knows, with their recipes: sources, Slang files, a Python file."""

from __future__ import annotations

import runpy
import sys
import traceback
from pathlib import Path
from typing import Any

import fusepy as fp
from fusepy.errors import FusepyError, StudioError
from fusepy.functions.device_function import DeviceFunction
from fusepy.functions.function import Function
from fusepy.rays.ray_function import RayFunction
from fusepy.studio.comments import FunctionNotes, notes_on
from fusepy.studio.files import inside
from fusepy.studio.kinds import NodeKind, PortValue
from fusepy.studio.python_functions import PYTHON_ERRORS, python_recipe
from fusepy.studio.recipes import NodeRecipe, distinct, slang_recipe
from fusepy.studio.sources import SOURCES, PhotographRecipe, sources

SLANG = (".slang", ".slangh")


class Library:
    """The recipes by the names of their kinds.

    Attributes:
        modules: the loaded Slang files by their names, relative to the folder, in the order of loading.
        python_files: the Python files whose functions are nodes.
        broken: the last error of a Slang file that changed and does not compile; its nodes keep the old source.
    """

    def __init__(self, device: fp.Device, folder: Path):
        self.device, self.folder = device, folder
        self.modules: dict[str, fp.Module] = {}
        self.broken: dict[str, FusepyError] = {}
        self.recipes: dict[str, NodeRecipe] = {}
        self.python_files: set[str] = set()
        self.notes: dict[str, tuple[str, FunctionNotes]] = {}
        self._seen: dict[str, object] = {}  # when the files of a module were written, at the last look
        for recipe in sources(device, folder):
            self.recipes[recipe.kind.name] = recipe

    @property
    def kinds(self) -> dict[str, NodeKind]:
        """The kinds by their names."""
        return {name: recipe.kind for name, recipe in self.recipes.items()}

    def add_module(self, name: str) -> None:
        """Adds the functions of a Slang file.

        Raises:
            StudioError: if the path leads out of the folder.
            CompileError: if there is no such file, or Slang rejects it.
        """
        path = inside(self.folder, name, SLANG)
        name = path.relative_to(self.folder).as_posix()
        if name not in self.modules:
            self.modules[name] = fp.Module.load_from_file(self.device, path)
            self._take(name)
            self._seen[name] = self._stamp(name)

    def add_pictures(self) -> None:
        """Offers the pictures that are in the folder now."""
        made = PhotographRecipe(self.device, self.folder)
        self.recipes[made.kind.name] = made

    def add_functions(self, path: Path) -> None:
        """Adds the fused functions, graphs and ray-tracing pipelines of a Python file, which runs it.

        Only the command line names such files: a document never does.

        Raises:
            StudioError: if it cannot be run, or has no functions.
        """
        self.python_files.add(str(path))
        before, sys.dont_write_bytecode = sys.dont_write_bytecode, True
        sys.path.insert(0, str(path.parent))
        try:
            found = runpy.run_path(str(path), run_name=path.stem)
        except (*PYTHON_ERRORS, FusepyError) as error:
            last = traceback.format_exception_only(type(error), error)[-1].strip()
            raise StudioError(f"{path.name} cannot be run", saw=last, hint=f"run it yourself: python {path.name}") from error
        finally:
            sys.path.remove(str(path.parent))
            sys.dont_write_bytecode = before
        functions = {n: v for n, v in found.items() if _is_fused(v) and not n.startswith("_")}
        if not functions:
            hint = "put @fp.fuse above the functions that are to be nodes"
            raise StudioError(f"{path.name} has no fused functions", saw=", ".join(sorted(found)[:8]), hint=hint)
        for name, function in functions.items():
            if isinstance(function, RayFunction):
                self._add(function, function.node(), name, path.name)
            else:
                recipe = python_recipe(function, name, path.name)
                self.recipes[recipe.kind.name] = recipe

    def changed(self) -> list[str]:
        """Reloads Slang files that have changed, also imported ones. Returns the names of those with new functions or errors."""
        changed: list[str] = []
        for name, module in self.modules.items():
            stamp = self._stamp(name)
            if stamp == self._seen.get(name):
                continue
            self._seen[name] = stamp
            try:
                fresh, error = module.reload(), None
            except FusepyError as refused:
                fresh, error = False, refused
            if fresh:
                self._take(name)
            if fresh or str(error) != str(self.broken.get(name)):
                changed.append(name)
            self.broken.pop(name, None)
            if error is not None:
                self.broken[name] = error
        return changed

    def groups(self) -> list[dict[str, Any]]:
        """Returns the palette as the page gets it."""
        groups: dict[str, list[dict[str, Any]]] = {SOURCES: []}
        for recipe in self.recipes.values():
            groups.setdefault(recipe.kind.group, []).append(recipe.kind.json)
        return [{"name": name, "kinds": kinds} for name, kinds in groups.items()]

    def slang_line(self, kind: str) -> str | None:
        """Returns the line that defines the Slang function of a kind: ``"look.slang:12: float3 gain(...)"``."""
        file, notes = self.notes.get(kind, ("", FunctionNotes()))
        return f"{file}:{notes.line}: {notes.text}" if notes.line else None

    def _stamp(self, name: str) -> object:
        """Returns when the files of a module were written; a broken one may import others now, so it has no stamp."""
        if name in self.broken:
            return object()
        imported = [path for path, _ in self.modules[name]._source.files]  # pyright: ignore[reportPrivateUsage]
        paths = [self.folder / name, *map(Path, imported)]
        return tuple(path.stat().st_mtime_ns if path.exists() else None for path in paths)

    def _take(self, name: str) -> None:
        """Makes the recipes of a Slang file in place of those of its old source."""
        places = {group: i for i, group in enumerate(dict.fromkeys(r.kind.group for r in self.recipes.values()))}
        self.recipes = {k: r for k, r in self.recipes.items() if r.module != name}
        module = self.modules[name]
        for function, node in fp.NodeLibrary.from_module(module).items():
            self._add(module.find_function(function), node, function, name)
        ordered = sorted(self.recipes.items(), key=lambda item: places.get(item[1].kind.group, len(places)))
        self.recipes = dict(ordered)  # where it was in the palette

    def _add(self, function: Function, node: fp.Node, name: str, file: str) -> None:
        """Adds the recipes of a Slang function: one for each way to name its parameters.

        Args:
            file: that from which programs take the function.
        """
        source = function.tracer.loaded.source
        oracle, notes = function.tracer.device.oracle({source.alias: source}), notes_on(source.text, function.__name__)
        for i, signature in enumerate(distinct(function.tracer.declared())):
            found = {p.name: oracle.default(source.alias, function.__name__, signature, p.name) for p in signature.params}
            defaults: dict[str, PortValue] = {n: value for n, value in found.items() if value is not None}
            recipe = slang_recipe(node, name, signature, file, notes, defaults, i)
            if recipe.kind.outputs:  # a node is its outputs
                self.recipes[recipe.kind.name] = recipe
                self.notes[recipe.kind.name] = Path(source.path).name, notes


def _is_fused(value: Any) -> bool:
    return isinstance(value, DeviceFunction) and (isinstance(value, RayFunction) or not isinstance(value, Function))
