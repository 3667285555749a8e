"""Compiles a traced call: through the passes to an executable, with the facts about its arguments and results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, TypeVar

from fusepy.arguments.mapped import unmapped
from fusepy.backend.device.device import Device
from fusepy.backend.emit.options import NO_OPTIONS, Options
from fusepy.backend.execute.executable import Executable
from fusepy.backend.execute.texture_results import Into, TextureTarget
from fusepy.backend.marshals.registry import OBJECT, RESULTS, kind_of_class, texture_kind, waits
from fusepy.backend.marshals.result_kinds import check_type, leading, stream_of
from fusepy.backend.memory.element import Element
from fusepy.backend.slang.oracle import SlangOracle
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.graph import Graph
from fusepy.ir.ops.promotion import of_numbers
from fusepy.ir.pipelines.rays import pipelines_in, with_stages
from fusepy.passes.digits.compared import compared
from fusepy.passes.digits.wide import returned
from fusepy.passes.effects import is_pure
from fusepy.passes.pipeline import run_pipeline
from fusepy.program.delivery import PYTHONS, HandedOut
from fusepy.program.destinations import Destinations
from fusepy.program.inputs import Inputs
from fusepy.program.lowering import Lowering
from fusepy.program.placement import all_open
from fusepy.program.program import Program
from fusepy.program.relocation import Detours
from fusepy.program.stages import targets_in
from fusepy.trace.components.numbers import types_of_numbers
from fusepy.trace.moves.extents import is_added
from fusepy.trace.recording import Recording

SINGLE = ("scalar", "vector")  # kinds of single values, which leave the choice to others
HOSTED = (*PYTHONS, "numpy", "vector")  # those in memory of the host
Kind = TypeVar("Kind", bound=Program)


def compile_program(
    recording: Recording,
    returns: str | Into | None,
    strict: bool,
    options: Options = NO_OPTIONS,
    kind: type[Kind] = Program,
    **own: Any,
) -> Kind:
    """Compiles a traced call; kernels are compiled when a call needs them.

    Args:
        returns: the container of the results, or the destinations that change the program.
        kind: the class of the program, with members of its `own`.

    Raises:
        FusepyError: if Slang or the device cannot do what the call asks for.
    """
    trace, device = recording.trace, recording.trace.device
    device.check()
    word, own["apart"], recording = _handed_out(recording, returns, device)
    trace.extents.numbers = types_of_numbers(trace, recording.graph)
    graph = run_pipeline(recording.graph, trace.oracle)
    inputs = Inputs.of(recording, graph)
    values = inputs.values(recording.arguments)
    written = _destinations(recording, graph, returns)
    options = options.joined(trace.options, graph.name)
    lowering = _lowering(recording, graph, inputs, options, strict, written)
    executable = lowering.executable()
    unsized = executable.open or all_open([values[p] for v, p in zip(graph.inputs, inputs.positions) if v.rank])
    if not unsized:
        own |= _surroundings(device, graph, executable, values, word)
        if targets := texture_targets(graph, recording, returns, word == "texture"):
            written, lowering = replace(written, targets=targets), replace(lowering, targets=targets)
            executable = lowering.executable()
    device.save_facts()
    return kind(
        device=device,
        recording=_without_arguments(recording),
        graph=graph,
        options=options,
        inputs=inputs,
        lowering=lowering,
        destinations=written,
        executable=executable,
        acts=_acts(graph, trace.oracle),
        returns=word,
        open=unsized,
        **own,
    )


def _acts(graph: Graph, oracle: SlangOracle) -> bool:
    """True if a node of the regions may write memory, itself or by a function that its rays run."""
    impure = [n for region in graph.nodes for body in region.bodies for n in body.nodes if not is_pure(n)]
    if not impure or any("rays" not in n.attrs or not is_pure(n, rays=True) for n in impure):
        return bool(impure)
    calling = Graph("rays", [], impure, [])
    stages = [s for pipeline in pipelines_in([calling]) for s in pipeline.stages if not s.body]
    inner = [n for body in with_stages([calling])[1:] for n in body.walk()]
    return any("writes" in oracle.effects(s.module, s.function) for s in stages) or not all(map(is_pure, inner))


def _handed_out(recording: Recording, returns: str | Into | None, device: Device) -> tuple[str, HandedOut, Recording]:
    """Returns the container of results, those that are handed out otherwise, and the traced call with doubles where Python's
    floats are compared or handed out.
    """
    word = returns if isinstance(returns, str) else _container(recording)
    apart: HandedOut = _numbers(recording, word) if word in HOSTED and not isinstance(returns, str) else {}
    if "double" in device.features:
        graph = compared(recording.graph, recording.trace.given)
        if graph is not recording.graph or word in PYTHONS or apart:
            recording = replace(recording, graph=returned(graph) if word in PYTHONS or apart else graph)
    return word, apart, recording


def _numbers(recording: Recording, word: str) -> HandedOut:
    """Returns the kinds of results that are computed of numbers alone: they are not in the container, as in calls one by one."""
    found: dict[int, str] = {}
    for j, value in enumerate(recording.graph.outputs[: len(recording.graph.outputs) - recording.printed]):
        if value.weak and of_numbers([value]):
            found[j] = "scalar"
        elif value.type.shape and recording.trace.plain.of_numbers(value):
            found[j] = OBJECT if value.arrival.single else "vector" if word == "scalar" else word
    return {} if word in PYTHONS and {*found.values()} <= {"scalar", word} else found


def _container(recording: Recording) -> str:
    """Returns the container of results: that of the arguments; of numbers alone, or none, that of the captured values."""
    found = leading(map(unmapped, recording.arguments))
    if found.word not in SINGLE:
        return found.word
    if recording.trace.moves.tensors:
        return "tensor"
    captured = [(c, kind_of_class(c.__class__)) for c in map(unmapped, recording.trace.captures) if not is_added(c)]
    return min(leading(c for c, kind in captured if kind is not None), found, key=lambda kind: kind.precedence).word


def _without_arguments(recording: Recording) -> Recording:
    """Returns a traced call without its arguments: a program must not keep those of its first call alive."""
    recording.trace.given.clear()
    return replace(recording, arguments=(), classes=[type(unmapped(v)).__name__ for v in recording.arguments])


def _surroundings(device: Device, graph: Graph, executable: Executable, values: Sequence[Any], word: str) -> dict[str, Any]:
    """Returns the members of a program that follow from where its arguments are, and to which framework they belong."""
    given, maker = list(map(unmapped, values)), RESULTS[word].maker
    return {
        "detours": Detours.of(graph.name, executable.plans, values),
        "waits": waits(given),
        "maker": maker and maker(device, given),
        "follows": None if device.cuda is None else stream_of(given),
    }


def _destinations(recording: Recording, graph: Graph, returns: str | Into | None) -> Destinations:
    """Returns the destinations of a call: its ``out`` arguments, with the mappings of those in ``_result=``.

    Raises:
        UnsupportedArgumentError: for one under `vcast` to another type than it receives.
    """
    oracle, device = recording.trace.oracle, recording.trace.device
    outs = recording.outs if any(o is not None for o in recording.outs) else ()
    free = [j for j in range(len(graph.outputs) - recording.printed) if not outs or outs[j] is None]
    given = zip(free, returns.maps) if isinstance(returns, Into) else ()
    said: dict[int, ArgMap] = {**recording.said, **{j: map for j, map in given if map != UNSAID}}
    elements = [Element.of(v.type, oracle) for v in graph.outputs]
    made = Destinations(device, graph, recording.names, outs, elements, {}, said, recording.printed, recording.paths())
    for j, map in said.items():
        type = graph.outputs[j].type
        if map.type not in (None, type) and oracle.conforming(type) is None:
            check_type(map, type, made.named(j))
    return made


def _lowering(
    recording: Recording, graph: Graph, inputs: Inputs, options: Options, strict: bool, written: Destinations
) -> Lowering:
    """Returns the lowering of a call whose results go to these destinations."""
    trace = recording.trace
    sources = [trace.sources[alias] for alias, _ in recording.graph.modules]
    names = [written.target(j) for j in range(len(graph.outputs))]
    traced = (trace.oracle, sources, recording.graph)
    return Lowering(trace.device, *traced, graph, inputs.positions, len(inputs.places), options, strict, names, {})


def texture_targets(graph: Graph, recording: Recording, returns: str | Into | None, all: bool) -> dict[int, TextureTarget]:
    """Returns the results that are stored into textures: ``out`` arguments, those of ``_result=``, or `all` others.

    Args:
        returns: the properties of ``_result=``.

    Raises:
        UnsupportedArgumentError: for a result that its texture cannot hold.
    """
    found: dict[int, TextureTarget] = {}
    args = [unmapped(v) for v in recording.arguments]
    outs = list(recording.outs) or [None] * len(graph.outputs)
    for j, position in enumerate(outs):
        kind = None if position is None else texture_kind(args[position])
        if position is not None and kind is not None:
            what = f"{graph.name}: argument {recording.names[position]!r}"
            found[j] = TextureTarget.of(kind, graph.outputs[j], what, position)
    free = [j for j, position in enumerate(outs[: len(outs) - recording.printed]) if position is None]
    own = targets_in(graph)
    makers = [own.get(v) for v in graph.outputs]
    if isinstance(returns, Into) and len(returns.kinds) <= len(free):
        for j, kind, shared in zip(free, returns.kinds, returns.shared):
            make, what = makers[j], f"{graph.name}: {recording.paths()[j]}"
            if kind is not None:
                found[j] = make(kind, what) if make is not None else TextureTarget.of(kind, graph.outputs[j], what, shared)
    elif all:
        for j in free:
            make, inputs = makers[j], [args[p] for p in recording.inputs]
            if make is not None:
                found[j] = make(None, graph.name)
            else:
                found[j] = TextureTarget.made_for(graph.outputs[j], graph.inputs, inputs, graph.name, normalised=True)
    return found
