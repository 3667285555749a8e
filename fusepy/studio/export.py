"""Documents as Python programs that compute the same pictures."""

from __future__ import annotations

import keyword
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from fusepy.errors import StudioError
from fusepy.studio.document import Document, Socket, kind_of
from fusepy.studio.graphs import Argument, check_complete, input_names, values_of
from fusepy.studio.node_library import SLANG, Library
from fusepy.studio.recipes import NodeRecipe, alias_of

RESERVED = {"fp", "np", "Path", "Image", "ImageOps", "HERE", "device", "photograph", "save", "graph", "compute", "zip", "result"}
LINE = 110  # characters
_PHOTOGRAPH = '''def photograph(name: str, longest: int) -> fp.Tensor:
    """Reads a picture beside this file, reduced until no side is longer than this number of pixels."""
    with Image.open(HERE / name) as opened:
        picture = ImageOps.exif_transpose(opened).convert("RGB")
    picture.thumbnail((longest, longest), Image.Resampling.BOX)
    return fp.Tensor.from_numpy(device, np.asarray(picture, np.float32) / np.float32(255), "float3")'''
_SAVE = '''def save(name: str, values: np.ndarray) -> None:
    """Writes numbers as a picture: 0 is black, 1 is white."""
    rows = (np.clip(np.nan_to_num(values[..., :3] if values.ndim == 3 else values), 0, 1) * 255 + 0.5).astype(np.uint8)
    if rows.ndim == 3 and rows.shape[2] == 2:
        rows = np.concatenate([rows, np.zeros_like(rows[..., :1])], axis=2)
    Image.fromarray(rows).save(HERE / name)'''


@dataclass(frozen=True)
class ExportedProgram:
    """A program, and the number of the line that calls each node."""

    text: str
    lines: Mapping[str, int]


def program_of(library: Library, document: Document, end: Socket | None = None) -> ExportedProgram:
    """Returns the program that computes an output, or else all ends of the document.

    Raises:
        StudioError: if there is nothing to compute, or an input is missing.
    """
    ends = _ends(library, document, end)
    around = document.upstream(name for name, _ in ends)
    kinds = {name: kind_of(library.kinds, document.nodes[name].kind) for name in document.order() if name in around}
    recipes = {name: library.recipes[kind.name] for name, kind in kinds.items()}
    given: dict[Argument, str] = {}
    for name, recipe in recipes.items():
        node = document.nodes[name]
        check_complete(document, node, recipe)
        given |= {(name, argument): text for argument, text in recipe.written(values_of(document, node, recipe)).items()}
    names = dict(zip(given, input_names(list(given))))
    body, variables = _body(document, recipes, names, ends)
    _return(body, [variables[socket] for socket in ends])
    written = "\n".join(line for _, line in body)
    used = {key: name for key, name in names.items() if re.search(rf"\b{name}\b", written)}
    head = f"def graph({', '.join(used.values())}):"
    if len(head) > LINE:
        head = "\n".join(["def graph(", *(f"    {name}," for name in used.values()), "):"])
    calls = "\n".join(f"        {name}={given[key]}," for key, name in used.items())
    compute = f'def compute():\n    """Returns the results."""\n    return graph(\n{calls}\n    )'
    photographs = [_PHOTOGRAPH] if any(recipe.needs for recipe in recipes.values()) else []
    before = "\n\n\n".join([_head(recipes.values()), *photographs, f"@fp.fuse\n{head}\n"])
    lines: dict[str, int] = {}
    for number, (name, _) in enumerate(body, before.count("\n") + 1):
        lines.setdefault(name, number)
    graph = before + "\n".join(f"    {line}" for _, line in body)
    return ExportedProgram("\n\n\n".join([graph, compute, _SAVE, _main(ends)]), lines)


def _ends(library: Library, document: Document, end: Socket | None) -> list[Socket]:
    """Returns the outputs that a program computes."""
    kinds = library.kinds
    ends = document.ends(kinds) if end is None else [end]
    for name, port in ends:
        if kind_of(kinds, document.node(name).kind).output(port) is None:
            raise StudioError(f"{name} has no output {port!r}", hint="name an output of the node")
    if not ends:
        raise StudioError("the document computes nothing", hint="add a node with an output")
    return ends


def _return(body: list[tuple[str, str]], returned: Sequence[str]) -> None:
    """Adds the line that returns variables; a last line that computes the only one returns it."""
    last = body[-1][1] if body else ""
    if len(returned) == 1 and last.startswith(f"{returned[0]} = "):
        body[-1] = (body[-1][0], f"return {last.partition(' = ')[2]}")
    else:
        body.append(("", f"return {', '.join(returned)}"))


def _main(ends: Sequence[Socket]) -> str:
    """Returns the part that writes pictures."""
    names = [f'"{name}_{port}.png"' for name, port in ends]
    several = len(ends) > 1
    run = f"    for name, result in zip([{', '.join(names)}], compute()):\n    " if several else "    result = compute()\n"
    return f'if __name__ == "__main__":\n{run}    save({"name" if several else names[0]}, np.asarray(result))\n'


def _body(
    document: Document, recipes: Mapping[str, NodeRecipe], parameters: Mapping[Argument, str], ends: Sequence[Socket]
) -> tuple[list[tuple[str, str]], dict[Socket, str]]:
    """Returns the lines of the graph with the nodes that they compute, and the variables of the outputs."""
    lines: list[tuple[str, str]] = []
    variables: dict[Socket, str] = {}
    used = {start for end, start in document.edges.items() if end[0] in recipes} | set(ends)
    taken = {*parameters.values(), *RESERVED, *(alias_of(recipe.module) for recipe in recipes.values())}
    for name, recipe in recipes.items():
        outputs = [port.name for port in recipe.kind.outputs if (name, port.name) in used]
        names = {port: _free(name if len(recipe.kind.outputs) == 1 else f"{name}_{port}", taken) for port in outputs}
        given = {argument: text for (node, argument), text in parameters.items() if node == name}
        given |= {end[1]: variables[start] for end, start in document.edges.items() if end[0] == name}
        made = recipe.lines(given, names)
        same = {left: right for left, _, right in (line.partition(" = ") for line in made) if right in taken}
        lines += [(name, line) for line in made if line.partition(" = ")[0] not in same]
        variables |= {(name, port): same.get(variable, variable) for port, variable in names.items()}
    return lines, variables


def _free(name: str, taken: set[str]) -> str:
    """Returns a variable that nothing else is called, and takes it."""
    while name in taken or keyword.iskeyword(name):
        name += "_"
    taken.add(name)
    return name


def _head(recipes: Iterable[NodeRecipe]) -> str:
    """Returns the imports and the modules."""
    files = list(dict.fromkeys(recipe.module for recipe in recipes if recipe.module))
    photographs = any(recipe.needs for recipe in recipes)
    lines = [
        '"""A graph made with fusepy studio. It stands beside the files that it names, and writes its results as pictures."""',
        "",
        "from pathlib import Path",
        "",
        "import numpy as np",
        f"from PIL import Image{', ImageOps' * photographs}",
        "",
        "import fusepy as fp",
        *(f"import {f.removesuffix('.py')} as {alias_of(f)}" for f in files if not f.endswith(SLANG)),
        "",
        "HERE = Path(__file__).resolve().parent",
        "device = fp.default_device()",
        *(f'{alias_of(f)} = fp.Module.load_from_file(device, HERE / "{f}")' for f in files if f.endswith(SLANG)),
    ]
    return "\n".join(lines)
