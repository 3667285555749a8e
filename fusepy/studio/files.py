"""Documents as files: JSON that people can read and merge, checked in full before a document is made of it.

```json
{
  "fusepy studio": 1,
  "modules": ["look.slang"],
  "nodes": {
    "photograph": {"kind": "photograph", "at": [0, 0], "values": {"file": "cat.png"}},
    "exposure": {"kind": "look.slang/exposure", "at": [300, 0], "values": {"stops": 0.5}}
  },
  "edges": ["photograph.picture -> exposure.c"]
}
```
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, cast

from fusepy.errors import StudioError
from fusepy.studio.document import MOST_NODES, NODE_NAME, Document, Kinds, PlacedNode, Socket, kind_of, position

FORMAT = "fusepy studio"
VERSION = 1
LONGEST = 1 << 20  # bytes of a file
_EXAMPLE = f'start from a file that the studio has saved; an empty one is {{"{FORMAT}": {VERSION}, "nodes": {{}}}}'


def inside(folder: Path, name: Any, suffixes: Sequence[str] = ()) -> Path:
    """Returns a path below the folder in which the studio was started.

    Raises:
        StudioError: if the name leads out of it, also through a link, or ends in another suffix.
    """
    if not isinstance(name, str) or not name or len(name) > 400 or not name.isprintable():
        _refuse("this is no name of a file", name, 'give a path below the folder of the studio, such as "look.slang"')
    path = Path(name)
    try:
        resolved = (folder / path).resolve()
        resolved.exists()
    except (OSError, RuntimeError) as error:  # a name that is too long, a folder that may not be read, a link to itself
        _refuse("no file can be there", name, f"choose another name: {getattr(error, 'strerror', None) or error}")
    if path.is_absolute() or ".." in path.parts or not resolved.is_relative_to(folder.resolve()):
        _refuse("the path leads out of the folder of the studio", name, "copy the file into it, or start the studio further up")
    if suffixes and path.suffix.lower() not in suffixes:
        _refuse("the file has another ending", name, f"give one of {', '.join(suffixes)}")
    return folder / path


def to_text(document: Document, modules: Sequence[str]) -> str:
    """Returns the text of the file: a line for each node and each edge."""
    nodes = [f"    {json.dumps(name)}: {_line_of(node)}" for name, node in document.nodes.items()]
    edges = [f'    "{start[0]}.{start[1]} -> {end[0]}.{end[1]}"' for end, start in document.edges.items()]
    parts = [f'  "{FORMAT}": {VERSION}', f'  "modules": {json.dumps(list(modules))}', _block("nodes", nodes, "{}")]
    return "{\n" + ",\n".join([*parts, _block("edges", edges, "[]")]) + "\n}\n"


def read_modules(text: str) -> tuple[dict[str, Any], list[str]]:
    """Returns the parsed file and the Slang files that it names; these are not looked at yet.

    Raises:
        StudioError: if the text is no document.
    """
    if len(text) > LONGEST:
        _refuse("the file is too long for a document", f"{len(text):,} characters", f"a document has at most {LONGEST:,}")
    try:
        found: Any = json.loads(text, parse_constant=_no_constant, object_pairs_hook=_once)
    except (ValueError, RecursionError) as error:
        raise StudioError("the file is no JSON", saw=str(error)[:200], hint=_EXAMPLE) from None
    data = _record(found, "the file", {FORMAT, "modules", "nodes", "edges"}, {FORMAT, "nodes"})
    if type(data[FORMAT]) is not int or data[FORMAT] != VERSION:
        _refuse("the file has another format", data[FORMAT], f"this studio reads version {VERSION}; {_EXAMPLE}")
    modules = _list(data.get("modules", []), "modules")
    if any(not isinstance(m, str) for m in modules):
        _refuse("modules are names of Slang files", modules, 'write "modules": ["look.slang"]')
    return data, cast("list[str]", modules)


def to_document(data: Mapping[str, Any], kinds: Kinds) -> Document:
    """Returns the document of a parsed file.

    Raises:
        StudioError: for unknown kinds and ports, wrong types, values out of range, doubled edges, cycles.
    """
    nodes = _record(data["nodes"], "nodes")
    if len(nodes) > MOST_NODES:
        _refuse("the file has too many nodes", len(nodes), f"a document has at most {MOST_NODES}")
    document = Document({name: _node(name, value, kinds) for name, value in nodes.items()})
    for name, value in nodes.items():
        for port, given in _record(value.get("values", {}), f"values of {name}").items():
            document = document.set(kinds, name, port, given)
    for text in _list(data.get("edges", []), "edges"):
        start, end = _edge(text)
        if end in document.edges:
            _refuse(f"{end[0]}.{end[1]} is connected twice", text, "an input has one edge")
        document = document.connect(kinds, start, end)
    return document


def _node(name: str, value: Any, kinds: Kinds) -> PlacedNode:
    data = _record(value, f"the node {name[:60]!r}", {"kind", "at", "values"}, {"kind", "at"})
    if not NODE_NAME.fullmatch(name):
        _refuse("this is no name of a node", name, "use letters, digits and _, at most 64, and begin with a letter")
    if not isinstance(data["kind"], str):
        _refuse(f"{name}: a kind is a text", data["kind"], 'write "kind": "photograph", or "look.slang/exposure"')
    return PlacedNode(name, kind_of(kinds, data["kind"]).name, position(data["at"], name))


def _edge(text: Any) -> tuple[Socket, Socket]:
    ends = [tuple(end.strip().split(".")) for end in text.split("->")] if isinstance(text, str) else []
    if len(ends) != 2 or any(len(end) != 2 for end in ends):
        _refuse("this is no edge", text, 'write "node.output -> node.input"')
    return cast("tuple[Socket, Socket]", tuple(ends))


def _record(value: Any, what: str, known: set[str] | None = None, needed: set[str] | None = None) -> dict[str, Any]:
    if not isinstance(value, dict):
        _refuse(f"{what} is no object", value, _EXAMPLE)
    data = cast("dict[str, Any]", value)
    unknown = sorted(set(data) - known) if known is not None else []
    missing = sorted((needed or set()) - set(data))
    if unknown or missing:
        _refuse(f"{what} has {'an unknown' if unknown else 'no'} entry {(unknown or missing)[0]!r}", list(data), _EXAMPLE)
    return data


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        _refuse(f"{what} is no list", value, _EXAMPLE)
    return cast("list[Any]", value)


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Makes an object of its entries; two of one name would hide one another."""
    made = dict(pairs)
    if len(made) < len(pairs):
        raise ValueError(f"two entries have one name among {[name for name, _ in pairs][:6]}")
    return made


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _refuse(what: str, saw: Any, hint: str) -> NoReturn:
    raise StudioError(what, saw=repr(saw)[:80], hint=hint)


def _line_of(node: PlacedNode) -> str:
    data: dict[str, Any] = {"kind": node.kind, "at": [_short(x) for x in node.at]}
    return json.dumps(data | ({"values": dict(node.values)} if node.values else {}))


def _short(x: float) -> float:
    return int(x) if x == int(x) else round(x, 2)


def _block(name: str, lines: Sequence[str], empty: str) -> str:
    return f'  "{name}": {empty[0]}\n' + ",\n".join(lines) + f"\n  {empty[1]}" if lines else f'  "{name}": {empty}'
