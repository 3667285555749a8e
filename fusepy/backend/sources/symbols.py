"""Names that a module declares: for suggestions in messages, and for ``dir()``. Overload resolution does not use them."""

from __future__ import annotations

import re
from typing import TypedDict

import slangpy as spy

_KIND = spy.DeclReflection.Kind
_GENERIC = re.compile(r"\b([A-Za-z_]\w*)\s*<[^;{}()=]*>\s*[({:]")


class Symbols(TypedDict):
    """The names of a module: its top-level ``functions`` and ``types``, the ``inner`` names of its namespaces, and the
    ``members``, which are the methods of each struct.
    """

    functions: list[str]
    types: list[str]
    inner: list[str]
    members: dict[str, list[str]]


def symbols_of(module: spy.SlangModule, text: str) -> Symbols:
    """Returns the names in a loaded module; `text` is its source."""
    names = Symbols(functions=[], types=[], inner=[], members={})
    _collect(module.module_decl, names, "", top=True)
    for name in sorted(set(_GENERIC.findall(text))):  # the bindings list generic functions without a name
        _add_generic(module.layout, name, names)
    return Symbols(
        functions=_plain(names["functions"]),
        types=_plain(names["types"]),
        inner=_plain(names["inner"]),
        members={k: _plain(v) for k, v in sorted(names["members"].items())},
    )


def _collect(scope: spy.DeclReflection, names: Symbols, struct: str, top: bool) -> None:
    for i in range(len(scope)):
        child = scope[i]
        try:
            kind = child.kind
        except ValueError:  # the bindings do not know namespaces and enums
            _collect(child, names, "", top=False)
            continue
        if kind == _KIND.func:
            listed = names["members"].setdefault(struct, []) if struct else names["functions" if top else "inner"]
            listed.append(child.name)
        elif kind == _KIND.struct:
            name = _struct_name(child)
            if name:
                names["types" if top and not struct else "inner"].append(name)
                _collect(child, names, f"{struct}::{name}" if struct else name, top)


def _struct_name(decl: spy.DeclReflection) -> str:
    """Returns the name of a struct, or nothing for one declared by a ``cbuffer`` or by ``struct {...} x``."""
    try:
        return decl.name
    except RuntimeError:  # the bindings make a string of a null pointer
        return ""


def _add_generic(layout: spy.ProgramLayout, name: str, names: Symbols) -> None:
    # the stubs promise objects, but Slang returns None for an unknown name
    if layout.find_function_by_name(name) is not None:  # pyright: ignore[reportUnnecessaryComparison]
        names["functions"].append(name)
    elif layout.find_type_by_name(name) is not None:  # pyright: ignore[reportUnnecessaryComparison]
        names["types"].append(name)


def _plain(names: list[str]) -> list[str]:
    """Returns names that users write, without operators and names that the compiler generates."""
    return sorted({n for n in names if n.isidentifier()})


def own_overloads(module: spy.SlangModule, function: str) -> list[spy.FunctionReflection]:
    """Returns the overloads of a function that the module itself declares at top level, without generic ones."""
    found: list[spy.FunctionReflection] = []
    for i in range(len(module.module_decl)):
        child = module.module_decl[i]
        try:
            kind = child.kind
        except ValueError:  # a namespace or an enum
            continue
        if kind == _KIND.func and child.name == function:
            found.append(child.as_function())
    return found


def may_be_generic(text: str, function: str) -> bool:
    """True if the text of a module may declare a generic function of this name; the bindings list those without a name."""
    return function in _GENERIC.findall(text) or ("__generic" in text and re.search(rf"\b{function}\s*\(", text) is not None)
