"""Errors of nodes, and the values of a pixel, as the page gets them."""

from __future__ import annotations

import re
from typing import Any

from fusepy.errors import CompileError, FusepyError
from fusepy.inspect.pixel_report import PixelReport, PixelValue
from fusepy.studio.document import Document
from fusepy.studio.export import ExportedProgram
from fusepy.studio.graphs import node_at
from fusepy.studio.node_library import Library
from fusepy.studio.sources import SourceRecipe

SAVED = "mend the Slang file: it is compiled again as soon as it is saved"
_SLANG_LINE = re.compile(r"([\w./-]+\.slangh?)[:(](\d+)")


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
    sources = {name for name, node in document.nodes.items() if isinstance(library.recipes[node.kind], SourceRecipe)}
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
