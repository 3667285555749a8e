"""Shim modules, for calls into several modules from one kernel.

In Slang, functions of the same name and signature in two imported modules are ambiguous. A kernel that calls into more than one
module therefore calls wrappers with unique names, in one generated shim module per user module. Imports are not transitive, so
only that one user module is visible inside a shim.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from fusepy.ir.graph import Graph, Node, Op, Value
from fusepy.ir.names import spell_function_call
from fusepy.ir.ops.region import folds_of
from fusepy.ir.ops.vjp import optional
from fusepy.ir.oracle import IN, OUT
from fusepy.ir.pipelines.rays import RayStage, pipelines_in, with_stages
from fusepy.ir.resources import GRADED, graded
from fusepy.ir.types import VOID, Kind, Type
from fusepy.ir.value import declare
from fusepy.ir.whole import HOLDERS, struct_in

DIFFERENTIATED = ("vjp", "jvp")  # operations whose body Slang differentiates


@dataclass
class Shims:
    """The shim modules of a kernel: their `sources` by name, and the `names` of the wrappers by call.

    `stages` are the names of functions and structs that the stages of rays use, by module and name.

    `imported` are the modules that the kernel itself imports: the only one that it calls, or those of structs; ``None`` is all.
    `hidden` names the wrappers of operations whose Slang functions are hidden by the user's. They are in a module of their own,
    which imports no user module.
    """

    sources: dict[str, str] = field(default_factory=dict[str, str])
    names: dict[Node, str] = field(default_factory=dict[Node, str])
    imported: set[str] | None = None
    hidden: dict[Node, str] = field(default_factory=dict[Node, str])
    stages: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])


def make_shims(body: Graph, imports: Mapping[str, Sequence[str]], taken: Collection[str]) -> Shims:
    """Returns the shims for the calls of a region's body; none if it calls into one module only.

    Args:
        imports: the names to import for each module alias.
        taken: names of functions in these modules, which hide Slang's own.
    """
    calls = [n for n in body.walk() if n.op.name == "slang.call"]
    shims = Shims()
    if taken:
        _unhide(body, frozenset(taken), shims)
    modules, stages = {n.text("module") for n in calls}, list[RayStage]()
    for node in calls:
        if "rays" in node.attrs and not stages:
            stages = [s for p in pipelines_in([body]) for s in p.stages]
            modules.update(s.module for s in stages)
    if len(modules) < 2:
        shims.imported = _modules_of_structs(body, imports) | modules if modules and len(imports) > 1 else None
        return shims
    shims.imported = _modules_of_structs(body, imports) | {s.module for s in stages if s.body}
    wrappers: dict[str, dict[str, str]] = {}
    outers = [n for n in body.walk() if n.op.name in DIFFERENTIATED]
    differentiated = {n for outer in outers for n in outer.bodies[0].nodes}
    read = {outer.bodies[0].inputs[i] for outer in outers for i in optional(outer, "graded")}
    for node in calls:
        alias = node.text("module")
        known = wrappers.setdefault(alias, {})
        signature, call = _wrapper(node, read)
        attribute = "[Differentiable] " * (node in differentiated)
        plain = re.sub(r"\W", "_", node.text("function"))
        name = known.setdefault(f"{attribute}public {signature} {call}", f"fz_{alias}_{plain}_{len(known)}")
        shims.names[node] = name
    for stage in stages:
        if not stage.body:
            _name_stage(stage, shims, wrappers.setdefault(stage.module, {}))
    for alias, known in wrappers.items():
        lines = [f"import {name};" for name in (*imports[alias], *[GRADED] * any("_Grad" in text for text in known))]
        for text, name in known.items():
            lines.append(text.replace("@", name, 1))
        source = "\n".join(lines) + "\n"
        shims.sources[f"shim_{hashlib.sha256(source.encode()).hexdigest()[:20]}"] = source
    return shims


def _name_stage(stage: RayStage, shims: Shims, known: dict[str, str]) -> None:
    """Adds the wrapper of a function of rays, and names of its structs, which other modules may have, too."""
    params = [f"{'inout ' if i == 0 else ''}{type} a{i}" for i, type in enumerate(stage.types)]
    call = spell_function_call(stage.function, [f"a{i}" for i in range(len(params))])
    texts = {stage.function: f"public void @({', '.join(params)}) {{ {call}; }}"}
    texts |= {type: f"public typealias @ = {type};" for type in stage.types if Type.parse(type).kind is Kind.NAMED}
    for name, text in texts.items():
        plain = re.sub(r"\W", "_", name)
        shims.stages[stage.module, name] = known.setdefault(text, f"fz_{stage.module}_{plain}_{len(known)}")


def _modules_of_structs(body: Graph, aliases: Iterable[str]) -> set[str]:
    """Returns the modules whose calls take or return structs. Others may have structs of the same name, and are not imported."""
    of: dict[Type, set[str]] = {s: set() for v in body.all_values() if (s := struct_in(v.type)) is not None}
    for node in body.walk():
        if node.op.name == "slang.call":
            for value in (*node.operands, *node.results):
                struct = struct_in(value.type)
                if struct is not None:
                    of.setdefault(struct, set()).add(node.text("module"))  # of a mesh shader: OutputVertices<Point, 3>
    return {alias for owners in of.values() for alias in (owners or aliases)}


def _unhide(body: Graph, taken: frozenset[str], shims: Shims) -> None:
    """Wraps operations such as ``sin`` where a user's module has a function ``sin`` as well."""
    lines: list[str] = []
    for node in body.walk():
        if node.op.nests or type(node.op).emit is not Op.emit:  # a call, a struct or a loop: not an expression
            continue
        names = [f"a{i}" for i in range(len(node.operands))]
        value = node.op.expression(node, names)
        if taken.isdisjoint(re.findall(r"\w+(?=\()", value)):
            continue
        params = ", ".join(declare(v.type, n) for v, n in zip(node.operands, names))
        shims.hidden[node] = f"fz_{node.op.name}_{len(lines)}"
        lines.append(f"public {node.results[0].type} {shims.hidden[node]}({params}) {{ return {value}; }}")
    if lines:
        source = "\n".join(lines) + "\n"
        shims.sources[f"shim_{hashlib.sha256(source.encode()).hexdigest()[:20]}"] = source


def _wrapper(node: Node, read: Collection[Value]) -> tuple[str, str]:
    """Returns the head and the body of the wrapper of a call; ``@`` is a placeholder for its name.

    Args:
        read: textures, buffers and pointers whose reads have derivatives: the wrapper takes the structs that stand for them.
    """
    dirs = node.attrs.get("dirs") or (IN,) * len(node.operands)
    assert isinstance(dirs, tuple)
    returns = bool(node.attrs.get("returns", bool(node.results)))
    result: Type = node.results[0].type if returns else VOID
    inputs = iter(graded(v.type) if v in read else v.type for v in node.operands)
    outs = iter(v.type for v in node.results[1 if returns else 0 :])
    params: list[str] = []
    for i, direction in enumerate(dirs):
        type = next(inputs) if direction != OUT else None
        if direction != IN:
            type = next(outs)
        assert type is not None
        param = f"{type} a{i}" if isinstance(type, str) else declare(type, f"a{i}")
        params.append(("" if direction == IN else f"{direction} ") + param)
    call = spell_function_call(node.text("function"), [f"a{i}" for i in range(len(dirs))], bool(node.attrs.get("method")))
    return f"{result} @({', '.join(params)})", f"{{ {'return ' if returns else ''}{call}; }}"


def called_names(region: Node) -> tuple[str, ...]:
    """Returns the identifiers in the names that a kernel uses of its modules: functions, and structs with their operators."""
    calls = [n for body in with_stages(region.bodies) for n in body.walk() if n.op.name == "slang.call"]
    aliases = dict.fromkeys([n.text("module") for n in calls])
    aliases |= dict.fromkeys([f.module for f in folds_of(region)])
    for call in calls:
        if "rays" in call.attrs:
            aliases |= dict.fromkeys([s.module for p in pipelines_in(region.bodies) for s in p.stages])
    named = [name for alias in aliases or [""] for name in used_names(region, alias)]
    return tuple(dict.fromkeys(word for name in named for word in re.findall(r"[A-Za-z_]\w*", name)))


def used_names(region: Node, alias: str) -> list[str]:
    """Returns the names that a kernel may use of one module: the functions that it calls there, and all structs of its values."""
    bodies = with_stages(region.bodies)
    calls = [n for body in bodies for n in body.walk() if n.op.name == "slang.call"]
    names = [n.text("function") for n in calls if n.text("module") == alias]
    names += [f.function for f in folds_of(region) if f.module == alias]
    for call in calls:
        if "rays" in call.attrs:
            stages = [s for p in pipelines_in(region.bodies) for s in p.stages if s.module == alias]
            names += [name for s in stages for name in (*[s.function] * (not s.body), *s.types)]
    values = [*region.operands, *[v for body in bodies for v in body.all_values()]]
    structs = [struct_in(v.type) for v in values if v.type.kind in HOLDERS]
    names += [s.name for s in structs if s is not None]
    return list(dict.fromkeys(names))


def passed_types(region: Node, alias: str) -> list[Type]:
    """Returns the types of the arguments and results of all calls into one module."""
    bodies = with_stages(region.bodies)
    calls = [n for body in bodies for n in body.walk() if n.op.name == "slang.call" and n.attrs["module"] == alias]
    return list(dict.fromkeys([v.type for n in calls for v in (*n.operands, *n.results)]))
