"""Names that a module sees of its imports, and questions about types that only another module sees."""

from __future__ import annotations

from collections.abc import Sequence

import slangpy as spy

from fusepy.backend.slang.compiler import Compiler
from fusepy.backend.slang.overloads import Callee, RawAnswer, written
from fusepy.backend.slang.reflection import reflected, type_name
from fusepy.backend.sources.libraries import found
from fusepy.backend.sources.source import ModuleSource
from fusepy.backend.sources.symbols import may_be_generic, own_overloads
from fusepy.ir.types import Type
from fusepy.ir.whole import struct_in


def declared_in(compiler: Compiler, source: ModuleSource, function: str) -> list[RawAnswer]:
    """Returns parameters and result of each overload that a module sees.

    Its own hide Slang's functions of that name, and those of its imports with the same parameters.
    """
    layout = reflected(compiler.module(source))
    callee = Callee.find(layout, function)
    if callee is None:
        return []
    own = own_overloads(compiler.module(source), function)
    if own and (source.imported() or may_be_generic(source.text, function)):
        own += _others(compiler, callee, function, own)
    return callee.declared(layout, own)


def own_answer(source: ModuleSource, function: str, types: Sequence[Type], declared: Sequence[RawAnswer]) -> RawAnswer | None:
    """Returns the overload of a module that hides one of an import with these parameters, which Slang calls ambiguous."""
    if may_be_generic(source.text, function) or not source.imported():
        return None
    names = [t.name for t in types]
    return next((d for d in declared if [p[1] for p in d[0]] == names), None)


def _others(
    compiler: Compiler, callee: Callee, function: str, own: Sequence[spy.FunctionReflection]
) -> list[spy.FunctionReflection]:
    """Returns the overloads that are not Slang's, without those that have the parameters of one of `own`.

    These are imported, or generic: neither a declaration nor an overload says whose it is.
    """
    hidden = {written(f)[:-1] for f in own}
    found = callee.beyond(Callee.find(reflected(compiler.beside("", [])), function))
    return [f for f in found if written(f)[:-1] not in hidden]


def imports_of(compiler: Compiler, source: ModuleSource, others: Sequence[str], name: str) -> list[str]:
    """Returns the imports that make a name visible beside a module, with all its overloads. Empty if the module does so itself.

    Reflection also finds indirect imports. Only the compiler knows which names can be used.

    Args:
        others: the direct imports of the module.
    """
    callee = Callee.find(reflected(compiler.module(source)), name)
    if name.startswith("operator"):
        return []  # its types make it visible
    if callee is not None and callee.owner is None and not callee.constructs and callee.function.is_overloaded:
        own = own_overloads(compiler.module(source), name)
        if _others(compiler, callee, name, own):
            return [other for other in others if _declares(compiler, source, other, name)]
    if callee is not None and callee.owner is not None:
        name = callee.scope
    declared = f"{name} a" if callee is None or callee.owner is not None or callee.constructs else name
    for other in (None, *others):
        imports = f"import {source.name};\n" + (f"import {other};\n" if other else "")
        words = compiler.probe(f"{imports}void probe() {{ {declared}; }}\n", [source]) or ""
        if not any(code in words for code in ("E30015", "E30027")):  # undefined, not in this namespace
            return [other] if other else []
    return []


def _declares(compiler: Compiler, source: ModuleSource, other: str, function: str) -> bool:
    """True if a function is visible to those who import only `other`, an import of a module."""
    words = compiler.probe(f"import {other};\nvoid probe() {{ {function}; }}\n", [source]) or ""
    return not any(code in words for code in ("E30015", "E30027"))


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
