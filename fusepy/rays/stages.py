"""Finds the functions that the user names for the stages of rays, and checks their parameters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from fusepy.backend.sources.reachable import reaches, texts_of
from fusepy.errors import ArgumentError, did_you_mean
from fusepy.functions.function import Function
from fusepy.functions.fused import FusedFunction, fuse
from fusepy.functions.slang_tracer import Loaded
from fusepy.ir.oracle import IN, INOUT, Signature
from fusepy.ir.pipelines.rays import TRIANGLE
from fusepy.ir.types import VOID
from fusepy.modules.module import Module
from fusepy.rays.fused_stage import annotated

_FORMS = {
    "miss": "void {0}(inout Payload payload)",
    "closesthit": f"void {{0}}(inout Payload payload, {TRIANGLE} hit)",
    "anyhit": f"void {{0}}(inout Payload payload, {TRIANGLE} hit)",
    "intersection": "void {0}()",
    "callable": "void {0}(inout Data data)",
}
_DIRECTIONS = {"miss": (INOUT,), "closesthit": (INOUT, IN), "anyhit": (INOUT, IN), "intersection": (), "callable": (INOUT,)}
_NAME = re.compile(r"[A-Za-z_]\w*\Z")


@dataclass(frozen=True)
class HitGroup:
    """The functions that run where a ray meets geometry; each is a name, a function of a module, or None.

    Attributes:
        closesthit: runs for the nearest hit: ``void f(inout Payload payload, BuiltInTriangleIntersectionAttributes hit)``.
        anyhit: runs for each candidate of geometry that is not opaque, and may call ``IgnoreHit()``.
        intersection: ``void f()``, which finds the hits in a box and calls ``ReportHit``.
    """

    closesthit: Any = None
    anyhit: Any = None
    intersection: Any = None


@dataclass(frozen=True, eq=False)
class StageFunction:
    """A function of one kind of stage, with the types of its parameters; of a fused function they may be unknown, and empty."""

    kind: str
    loaded: Loaded
    name: str
    types: tuple[str, ...]
    fused: FusedFunction | None = None

    @property
    def recurses(self) -> bool:
        """True if a Slang function runs for the result of a ray, and traces rays itself."""
        if self.kind not in ("closesthit", "miss"):
            return False
        return reaches([self.name.rpartition("::")[2]], texts_of([self.loaded.source]), "TraceRay")


def stage_function(module: Module, loaded: Loaded, given: Any, kind: str) -> StageFunction:
    """Returns the function that `given` names.

    Args:
        module: where names are looked up; `loaded` is the module of the ray generation, whose types fused functions have.

    Raises:
        UnknownNameError: if the module has none of this name.
        ArgumentError: if it does not have the parameters of its stage.
    """
    found = module.find_function(given) if isinstance(given, str) else given
    if not isinstance(found, Function) and callable(found):
        if kind == "intersection":
            raise ArgumentError(
                "an intersection reports hits from within, which a fused function cannot do",
                saw=repr(given)[:60],
                expected=_FORMS[kind].format("f"),
                hint="write it in Slang, and call ReportHit there",
            )
        fused = found if isinstance(found, FusedFunction) else fuse(found)
        structs = module.device.oracle({"module": loaded.source}).symbols("module")["types"]
        return StageFunction(kind, loaded, fused.__name__, annotated(fused, len(_DIRECTIONS[kind]), structs), fused)
    if not isinstance(found, Function):
        raise ArgumentError(
            f"{kind} names no function",
            saw=repr(given)[:60],
            expected="the name of a Slang function, a function of a module, or a fused function",
            hint=f'write {kind}="name"',
        )
    return StageFunction(kind, found.tracer.loaded, found.__name__, _types(kind, found.__name__, found.tracer.declared()))


def _types(kind: str, name: str, declared: Sequence[Signature]) -> tuple[str, ...]:
    if len(declared) > 1:
        raise ArgumentError(f"{name} is overloaded, so {kind} names no single function", hint="give it a name of its own")
    (signature,) = declared
    wanted = _DIRECTIONS[kind]
    types = [p.type for p in signature.params]
    if tuple(p.direction for p in signature.params) != wanted or None in types or signature.result is not VOID:
        params = ", ".join(f"{p.direction} {p.type} {p.name}" for p in signature.params)
        raise ArgumentError(
            f"{name} does not fit the stage {kind}",
            saw=f"{signature.result} {name}({params})",
            expected=_FORMS[kind].format(name),
            hint="give it the parameters of the stage; pass further values as globals, with set()",
        )
    return tuple(map(str, types))


def hit_groups(closesthit: Any, anyhit: Any, intersection: Any) -> dict[str, HitGroup]:
    """Returns the hit groups by name: one named ``hit``, or those of dicts of functions by name.

    Raises:
        ArgumentError: if some are dicts and others are not, or a name is no identifier.
    """
    asked = {"closesthit": closesthit, "anyhit": anyhit, "intersection": intersection}
    given: dict[str, Any] = {kind: value for kind, value in asked.items() if value is not None}
    named: dict[str, dict[str, Any]] = {kind: value for kind, value in given.items() if isinstance(value, dict)}
    if not given:
        return {}
    if not named:
        return {"hit": HitGroup(**given)}
    names = list(dict.fromkeys(name for value in named.values() for name in value))
    if len(named) < len(given):
        other = next(kind for kind in given if kind not in named)
        raise ArgumentError(
            f"{other} belongs to no hit group",
            saw=repr(given[other])[:60],
            expected=f"a dict of functions by the names of groups, as {next(iter(named))} is",
            hint=f'write {other}={{"{next(iter(names), "name")}": …}}',
        )
    for name in names:
        if not isinstance(name, str) or not _NAME.match(name):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ArgumentError("a hit group has no name", saw=repr(name)[:60], expected="a word", hint='write {"glass": …}')
    return {name: HitGroup(**{kind: value.get(name) for kind, value in named.items()}) for name in names}


def table_of(groups: dict[str, HitGroup], given: Any, what: str) -> tuple[dict[str, HitGroup], tuple[str, ...]]:
    """Returns all hit groups, and the group of each row of the shader table, from the option ``hit_groups``.

    Raises:
        ArgumentError, UnknownNameError: if something in it is no hit group.
    """
    if given is None:
        return groups, tuple(groups)
    if isinstance(given, (str, HitGroup)) or not isinstance(given, Sequence):
        raise ArgumentError(f"{what}: hit_groups is a list", saw=repr(given)[:60], hint='write hit_groups=["lit", "glass"]')
    known, rows = dict(groups), list[str]()
    for item in cast("Sequence[Any]", given):
        if isinstance(item, HitGroup):
            name = next((n for n, group in known.items() if group == item), f"group_{len(known)}")
            known[name] = item
        elif item in known:
            name = item
        else:
            raise ArgumentError(
                f"{what}: hit_groups names no hit group",
                saw=repr(item)[:60],
                expected=", ".join(known) or "a HitGroup",
                hint=did_you_mean(str(item), known) if known else "give fp.HitGroup(closesthit=…)",
            )
        rows.append(name)
    return known, tuple(rows)
