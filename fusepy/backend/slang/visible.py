"""What a module sees of its imports, and questions about types that only another module sees."""

from __future__ import annotations

from collections.abc import Sequence

import slangpy as spy

from fusepy.backend.slang.compiler import Compiler
from fusepy.backend.slang.overloads import Callee, RawAnswer
from fusepy.backend.slang.reflection import reflected, type_name
from fusepy.backend.sources.libraries import found
from fusepy.backend.sources.source import ModuleSource
from fusepy.backend.sources.symbols import may_be_generic, own_overloads
from fusepy.ir.types import Type
from fusepy.ir.whole import struct_in


def declared_in(compiler: Compiler, source: ModuleSource, function: str) -> list[RawAnswer]:
    """Returns parameters and result of each overload that a module sees. Its own hide Slang's functions of that name."""
    module = compiler.module(source)
    callee = Callee.find(reflected(module), function)
    if callee is None:
        return []
    own = own_overloads(module, function)
    if own and may_be_generic(source.text, function):  # neither its declaration nor its overload says whose it is
        own = callee.beyond(Callee.find(reflected(compiler.beside("", [])), function))
    return callee.declared(reflected(module), own)


def import_of(compiler: Compiler, source: ModuleSource, others: Sequence[str], name: str) -> str | None:
    """Returns the import that makes a name visible beside a module. None if the module does so itself, or if no import does.

    Reflection also finds indirect imports. Only the compiler knows which names can be used.

    Args:
        others: the direct imports of the module.
    """
    callee = Callee.find(reflected(compiler.module(source)), name)
    if name.startswith("operator"):
        return None  # its types make it visible
    if callee is not None and callee.owner is not None:
        name = callee.scope
    declared = f"{name} a" if callee is None or callee.owner is not None or callee.constructs else name
    for other in (None, *others):
        imports = f"import {source.name};\n" + (f"import {other};\n" if other else "")
        words = compiler.probe(f"{imports}void probe() {{ {declared}; }}\n", [source]) or ""
        if not any(code in words for code in ("E30015", "E30027")):  # undefined, not in this namespace
            return other
    return None


def question_of(function: str, types: Sequence[Type], others: Sequence[ModuleSource]) -> str:
    """Returns a call as a key of facts about its module; `others` declare types that the module does not see."""
    return f"{function}({','.join([t.name for t in types])}){closures(others) if others else ''}"


def closures(others: Sequence[ModuleSource]) -> str:
    """Returns the part of a fact's key that names these other modules by their contents."""
    return "".join(f" beside {source.closure}" for source in others)


def as_asked(answer: RawAnswer, types: Sequence[Type], layout: spy.ProgramLayout) -> RawAnswer:
    """Returns an answer with the type names of the question, where Slang uses others: ``Pose`` for ``Pose::Differential``."""
    params, result = [list(param) for param in answer[0]], answer[1]
    for i, type in enumerate(types):
        asked = struct_in(type)
        struct = None if asked is None else found(layout.find_type_by_name(asked.name))
        same = None if struct is None else type_name(struct, layout)
        if asked is None or same in (None, asked.name):
            continue
        if type.name == params[i][1].replace(same, asked.name):
            params[i][1] = type.name
            result = asked.name if result == same else result
    return [params, result]
