"""`Library`: the kinds of nodes that a studio knows, with their recipes: sources, Slang files, a Python file."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import fusepy as fp
from fusepy.errors import FusepyError
from fusepy.functions.function import Function
from fusepy.rays.ray_function import RayFunction
from fusepy.studio.comments import FunctionNotes, notes_on
from fusepy.studio.files import inside
from fusepy.studio.kinds import NodeKind, PortValue
from fusepy.studio.python_files import PythonFile, written
from fusepy.studio.python_functions import python_recipe
from fusepy.studio.recipes import NodeRecipe, distinct, slang_recipe
from fusepy.studio.sources import SOURCES, PhotographRecipe, sources

SLANG = (".slang", ".slangh")
THREADS = 512  # of a group of a node's own kernel, each with one element: a loop over several takes twice as long to compile


class Library:
    """The recipes by the names of their kinds.

    Attributes:
        modules: the loaded Slang files by their names, relative to the folder, in the order of loading.
        python_files: the Python files whose functions are nodes, by their paths.
        broken: the last error of a file that changed and does not compile or run; its nodes keep the old functions.
    """

    def __init__(self, device: fp.Device, folder: Path):
        self.device, self.folder = device, folder
        self.modules: dict[str, fp.Module] = {}
        self.broken: dict[str, FusepyError] = {}
        self.recipes: dict[str, NodeRecipe] = {}
        self.python_files: dict[str, PythonFile] = {}
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
        file = PythonFile(path)
        self._take_functions(file)
        self.python_files[str(path)] = file

    def changed(self) -> list[str]:
        """Reloads files that have changed, also imported ones. Returns the names of those with new functions or errors."""
        reloads: dict[str, Callable[[], bool]] = {}
        for name in self.modules:
            stamp = self._stamp(name)
            if stamp != self._seen.get(name):
                self._seen[name] = stamp
                reloads[name] = partial(self._reload, name)
        reloads |= {f.path.name: partial(self._take_functions, f) for f in self.python_files.values() if f.changed}
        return [name for name, reload in reloads.items() if self._renewed(name, reload)]

    def _renewed(self, name: str, reload: Callable[[], bool]) -> bool:
        """Reloads a file. Returns True if it has new functions, or another error."""
        try:
            fresh, error = reload(), None
        except FusepyError as refused:
            fresh, error = False, refused
        other = str(error) != str(self.broken.pop(name, None))
        if error is not None:
            self.broken[name] = error
        return fresh or other

    def _reload(self, name: str) -> bool:
        """Reloads a Slang file. Returns False if its text is what it was."""
        fresh = self.modules[name].reload()
        if fresh:
            self._take(name)
        return fresh

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
        return tuple(map(written, paths))

    def _take(self, name: str) -> None:
        """Makes the recipes of a Slang file in place of those of its old source."""
        module = self.modules[name]
        with self._in_place(name):
            for label, node in fp.NodeLibrary.from_module(module).items():
                function = module.find_function(label)
                self._add(function, node, label, name, function.options(numthreads=THREADS).node())

    def _take_functions(self, file: PythonFile) -> bool:
        """Makes the recipes of a Python file, which runs it, in place of those of its last run. Returns True."""
        functions, name = file.run(), file.path.name
        with self._in_place(name):
            for label, function in functions.items():
                if isinstance(function, RayFunction):
                    self._add(function, function.node(), label, name)
                else:
                    recipe = python_recipe(function, label, name)
                    self.recipes[recipe.kind.name] = recipe
        return True

    @contextmanager
    def _in_place(self, name: str) -> Generator[None]:
        """Removes the recipes of a file. Those that are added meanwhile stand where the others were in the palette."""
        places = {group: i for i, group in enumerate(dict.fromkeys(r.kind.group for r in self.recipes.values()))}
        self.recipes = {k: r for k, r in self.recipes.items() if r.module != name}
        yield
        ordered = sorted(self.recipes.items(), key=lambda item: places.get(item[1].kind.group, len(places)))
        self.recipes = dict(ordered)

    def _add(self, function: Function, node: fp.Node, name: str, file: str, alone: fp.Node | None = None) -> None:
        """Adds the recipes of a Slang function: one for each way to name its parameters.

        Args:
            file: that from which programs take the function.
            alone: see `NodeRecipe`.
        """
        source = function.tracer.loaded.source
        oracle, notes = function.tracer.device.oracle({source.alias: source}), notes_on(source.text, function.__name__)
        for i, signature in enumerate(distinct(function.tracer.declared())):
            found = {p.name: oracle.default(source.alias, function.__name__, signature, p.name) for p in signature.params}
            defaults: dict[str, PortValue] = {n: value for n, value in found.items() if value is not None}
            recipe = slang_recipe(node, name, signature, file, notes, defaults, i)
            recipe.alone = alone or node
            if recipe.kind.outputs:  # a node is its outputs
                self.recipes[recipe.kind.name] = recipe
                self.notes[recipe.kind.name] = Path(source.label).name, notes
