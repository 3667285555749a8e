"""`StudioEngine`: everything of the studio that needs a device. It runs in a process of its own, see `worker`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import fusepy as fp
from fusepy.debug.png import png
from fusepy.errors import CompileError, FusepyError, StudioError
from fusepy.inspect.pixel_report import PixelReport, PixelValue
from fusepy.studio.document import Document, Socket
from fusepy.studio.evaluation import Evaluator, feeding, measured
from fusepy.studio.export import ExportedProgram, program_of
from fusepy.studio.files import inside
from fusepy.studio.graphs import GraphBuilder, node_at
from fusepy.studio.kinds import NodeKind
from fusepy.studio.node_library import SLANG, Library
from fusepy.studio.pictures import PICTURES, as_pixels
from fusepy.studio.python_functions import of_python
from fusepy.studio.sources import SourceRecipe
from fusepy.trace.standin import stand_in

SAVED = "mend the Slang file: it is compiled again as soon as it is saved"
_SLANG_LINE = re.compile(r"([\w./-]+\.slangh?)[:(](\d+)")


class StudioEngine:
    """The library of a folder, and the values computed with it. Arguments and results can be sent to another process.

    Example:
        >>> from tempfile import mkdtemp
        >>> engine = StudioEngine(mkdtemp())
        >>> document = Document().add(engine.kinds(), "number", (0, 0))
        >>> engine.evaluate(document)["edges"]["number.value"]["text"]
        'float 0.5'
    """

    def __init__(self, folder: str, modules: tuple[str, ...] = (), functions: tuple[str, ...] = ()):
        self.folder = Path(folder)
        self.node_library = Library(fp.default_device(), self.folder)
        self.builder = GraphBuilder(self.node_library)
        self.evaluator = Evaluator(self.builder)
        for name in modules:
            self.node_library.add_module(name)
        for name in functions:
            self.node_library.add_functions(Path(name))

    # ---- the palette --------------------------------------------------------------------------------------------

    def kinds(self) -> dict[str, NodeKind]:
        """Returns the kinds of nodes by name."""
        return self.node_library.kinds

    def groups(self) -> list[dict[str, Any]]:
        """Returns the palette as the page gets it."""
        return self.node_library.groups()

    def modules(self) -> list[str]:
        """Returns the names of the Slang files."""
        return list(self.node_library.modules)

    def add_source(self, name: str) -> None:
        """Adds the functions of a Slang file, or offers a new picture.

        Raises:
            StudioError: for a path outside of the folder, or of another kind.
            CompileError: if Slang rejects the file.
        """
        path = inside(self.folder, name, (*SLANG, *PICTURES))
        if path.suffix.lower() in SLANG:
            self.node_library.add_module(name)
        else:
            self.node_library.add_pictures()

    def changed(self) -> list[str]:
        """Reloads changed Slang and Python files, and returns their names."""
        return self.node_library.changed()

    # ---- documents ----------------------------------------------------------------------------------------------

    def check(self, document: Document, to: Socket) -> None:
        """Traces the node of an input with all that it is computed from, as far as its other inputs are known.

        Raises:
            FusepyError: what the compiler says if the edge into the input does not fit.
        """
        name = to[0]
        self.evaluator.evaluate(document, [start for start, _ in feeding(document, name).values()])
        kind = self.node_library.kinds[document.nodes[name].kind]
        fed = self.evaluator.fed(document, name)
        ports = {port.name: port for port in kind.inputs}
        for port, (start, end) in feeding(document, name).items():
            if port not in fed:  # the other node is not computed: its declared type is what is known
                output = self.node_library.kinds[document.nodes[start].kind].output(end)
                if output is None or output.described is None:
                    return
                fed[port] = stand_in(output.described)
        unknown = [p for p in ports if p not in fed and (name, p) not in document.edges and ports[p].default is None]
        if any(ports[p].described is None for p in unknown):  # such as one operand of a sum: the other decides
            return
        given = self.builder.given(document, name, missing=True)
        self.builder.single(document, name, {**given, **fed}).lower()

    def fitting(self, document: Document, start: Socket | None, to: Socket | None) -> list[Socket]:
        """Returns the inputs that take an output, or the outputs that an input takes."""
        found: list[Socket] = []
        for name, node in document.nodes.items():
            kind = self.node_library.kinds.get(node.kind)
            ports = () if kind is None else kind.inputs if to is None else kind.outputs
            for port in ports:
                edge = (start or (name, port.name), to or (name, port.name))
                if self._fits(document, *edge):
                    found.append((name, port.name))
        return found

    def _fits(self, document: Document, start: Socket, to: Socket) -> bool:
        try:
            self.check(document.connect(self.node_library.kinds, start, to), to)
        except FusepyError:
            return False
        return True

    def evaluate(self, document: Document) -> dict[str, Any]:
        """Computes every output; returns thumbnails, texts and errors as the page gets them."""
        self.evaluator.evaluate(document)
        results, found = self.evaluator.results, self.evaluator.errors
        edges = {f"{name}.{port}": shown for name, result in results.items() for port, shown in result.shown.items()}
        errors = {name: error_json(self.node_library, document, name, error) for name, error in found.items()}
        for name, node in document.nodes.items():
            recipe = self.node_library.recipes.get(node.kind)
            if recipe is not None and recipe.module in self.node_library.broken:
                errors[name] = error_json(self.node_library, document, name, self.node_library.broken[recipe.module])
        return {"edges": edges, "errors": errors}

    def kernels(self, document: Document) -> list[dict[str, Any]]:
        """Measures the kernels of the program that computes the ends of a document; see `evaluation.kernels`."""
        self.evaluator.evaluate(document)
        names = [name for name in document.order() if name in self.evaluator.results]
        return [
            {"nodes": list(k.nodes), "us": None if k.seconds is None else k.seconds * 1e6, "bytes": k.nbytes, "text": k.text}
            for k in measured(self.builder, document, names)
        ]

    def picture(self, name: str, port: str) -> bytes:
        """Returns an output of the last evaluation as a PNG file in full size.

        Raises:
            StudioError: if there is no such output, or it is no picture.
        """
        result = self.evaluator.results.get(name)
        tensor = None if result is None else result.tensors.get(port)
        pixels = None if tensor is None else as_pixels(tensor.to_numpy())
        if pixels is None:
            raise StudioError(f"{name}.{port} is no picture", hint="a picture has two axes of numbers or vectors")
        return png(pixels)

    def pixel(self, document: Document, end: Socket, at: tuple[int, ...]) -> list[dict[str, Any]]:
        """Returns every value on the way to one element of an output, with its lines in Slang and in the exported program.

        Raises:
            FusepyError: if the output cannot be computed, or has no such element.
        """
        program = program_of(self.node_library, document, end)  # refuses nodes and outputs that are gone, too
        built = self.builder.whole(document, [end])
        with of_python(built.files):
            report = fp.inspect_pixel(built.graph, built.arguments, at=at)
        return pixel_rows(self.node_library, document, program, report)

    def export(self, document: Document, end: Socket | None = None) -> str:
        """Returns a Python program that computes an output, or else all ends of the document.

        Raises:
            StudioError: if there is nothing to compute, or an input is missing.
        """
        return program_of(self.node_library, document, end).text


def error_json(library: Library, document: Document, name: str, error: FusepyError) -> dict[str, Any]:
    """Returns the error of a node, with the line of the Slang file that it names, or else the one that is called."""
    text = error.without_place.replace(f"{library.folder}/", "")
    if error.hint:
        text = text.replace(f"\n  hint:     {error.hint}", "")
    found = _SLANG_LINE.search(text)
    line = library.slang_line(document.nodes[name].kind) if found is None else f"{found[1]}:{found[2]}"
    return {"error": text, "hint": SAVED if isinstance(error, CompileError) else error.hint, "line": line}


def pixel_rows(library: Library, document: Document, program: ExportedProgram, report: PixelReport) -> list[dict[str, Any]]:
    """Returns the values behind a pixel. Of a source, its inner steps are left out: the last one is its output."""
    rows = [(node_at(value.line, document), value) for value in report.values]
    sources = {name for name, node in document.nodes.items() if isinstance(library.recipes.get(node.kind), SourceRecipe)}
    last = {node: i for i, (node, _) in enumerate(rows) if node in sources}
    inner = {f"{name}_{argument}" for name in sources for argument in ("grid", "size")}
    shown = [
        (node, v) for i, (node, v) in enumerate(rows) if (last.get(node, i) == i if node is not None else v.name not in inner)
    ]
    return [_row(library, document, program, node, value) for node, value in shown]


def _row(library: Library, document: Document, program: ExportedProgram, node: str | None, value: PixelValue) -> dict[str, Any]:
    kind = None if node is None else document.nodes[node].kind
    line = None if node is None else program.lines.get(node)
    python = value.line if node is None else None  # a line of a fused function of the user's
    if line is not None:
        python = f"{line}: {program.text.splitlines()[line - 1].strip()}"
    return {
        "name": node or value.name,
        "text": value.text,
        "type": value.type,
        "value": str(value).partition(" is ")[2].partition("  <- ")[0].partition("  // ")[0],
        "slang": library.slang_line(kind) if kind is not None and "slang.call" in value.text else None,
        "python": python or None,
        "bad": bool(value.mark),
        "mark": value.mark,
        "begins": value.begins,
    }
