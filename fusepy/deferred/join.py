"""Runs deferred calls: connected calls become one program, cached by its structure.

A call is traced when it is recorded. It is not traced again: its graph is appended to those of the calls that it depends on.
"""

from __future__ import annotations

import copy
import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from fusepy.backend.device.device import Device
from fusepy.backend.memory.pending import RECORDER, waiting
from fusepy.backend.memory.tensor import Tensor
from fusepy.deferred.calls import Call, LazyTensor
from fusepy.deferred.failures import run_all
from fusepy.errors import FusepyError
from fusepy.ir.graph import Attr, Graph, Node, Value
from fusepy.ir.narrowing import is_default
from fusepy.ir.ops import OPS
from fusepy.location import at_line, line_of
from fusepy.program.compile import compile_program
from fusepy.program.program import Program
from fusepy.pytree import several
from fusepy.trace.recording import Recording
from fusepy.trace.trace import Trace

PROGRAMS = 256  # cached structures per device


@dataclass(frozen=True, eq=False, kw_only=True)
class Joint(Program):
    """The program of several calls. `parts` keeps their own programs alive, since the key contains their ids."""

    parts: list[Program]


def run(call: Call) -> None:
    """Runs `call` and all calls connected to it as one program.

    Raises:
        FusepyError: at the line of the recorded call.
    """
    device = call.program.device
    with device.lock:
        if not call.over:
            token = RECORDER.set(None)
            try:
                run_all(connected(call), _run)
            except FusepyError as error:
                raise error.at(line_of(call.place)) from None
            finally:
                RECORDER.reset(token)
        if call.error is not None:
            raise copy.copy(call.error) from None  # a copy: on its way up it is completed


def connected(call: Call) -> list[Call]:
    """Returns the recorded calls that run together with `call`, in order."""
    group = call.group.whole()
    return [c for c in waiting() if c.group is group or c.group.whole() is group]


def _run(calls: Sequence[Call]) -> None:
    key, leaves, wanted = structure(calls)
    results = _together(calls[-1].program.device, key, calls, leaves)
    taken: set[int] = set()
    for tensor, made in zip(wanted, results):
        if made.low in taken:  # two calls computed the same value
            made = made.copy()
        taken.add(made.low)
        tensor.become(made)


def _together(device: Device, key: tuple[int, ...], calls: Sequence[Call], leaves: Sequence[Any]) -> Sequence[Tensor]:
    """Computes the results that are still held, as one program."""
    results = _program(device, key, calls, leaves)(leaves)
    return cast("Sequence[Tensor]", results) if isinstance(results, tuple) else [results]


def structure(calls: Sequence[Call]) -> tuple[tuple[int, ...], list[Any], list[LazyTensor]]:
    """Returns the key of the program of these calls, its arguments, and the result tensors that are still held.

    For each call, the key has the id of its program, and for each of its leaves the index of an argument, or ``~n`` for
    result ``n`` of all results. The indices of the held results follow. A tensor that is passed twice is one argument.
    """
    key: list[int] = []
    leaves: list[Any] = []
    wanted: list[LazyTensor] = []
    numbers: list[int] = []
    seen: dict[int, int] = {}
    count = 0
    for call in calls:
        key.append(id(call.program))
        for leaf in call.leaves:
            cls = leaf.__class__
            if cls is tuple:
                key.append(~(leaf[0].first + leaf[1]))
            elif cls is Tensor and id(leaf) in seen:
                key.append(seen[id(leaf)])
            else:
                place = len(leaves)
                if cls is Tensor:
                    seen[id(leaf)] = place
                leaves.append(leaf)
                key.append(place)
        call.first = count
        for reference in call.results:
            tensor = reference()
            if tensor is not None and tensor.__class__ is LazyTensor:
                wanted.append(tensor)
                numbers.append(count)
            count += 1
    return (*key, *numbers), leaves, wanted


def joint(device: Device, key: tuple[int, ...], calls: Sequence[Call], leaves: Sequence[Any]) -> Joint:
    """Makes the program of calls with this `structure`; it is neither compiled nor cached yet."""
    with at_line(line_of(calls[-1].place)):
        parts = [call.program for call in calls]
        made = compile_program(_joined(device, key, calls, leaves), "tensor", False, kind=Joint, parts=parts)
    return replace(made, inputs=replace(made.inputs, narrows={}))  # the warning was given when the calls were recorded


def _program(device: Device, key: tuple[int, ...], calls: Sequence[Call], leaves: Sequence[Any]) -> Program:
    programs = device.joints
    found = programs.get(key)
    if found is not None:
        device.counters.plan_hits += 1
        programs.move_to_end(key)
        return found
    made = joint(device, key, calls, leaves)
    made.state.home = (programs, key)
    device.programs.add(made)
    device.counters.plan_misses += 1
    programs[key] = made
    if len(programs) > PROGRAMS:
        programs.popitem(last=False)
    return made


# ---- joining graphs -------------------------------------------------------------------------------------------------


def _joined(device: Device, key: Sequence[int], calls: Sequence[Call], leaves: Sequence[Any]) -> Recording:
    """Joins the graphs of the calls; its arguments are `leaves`, and `key` says which leaves each call takes."""
    trace = Trace("lazy", device)
    builder = trace.builder
    arguments: dict[int, Value] = {}  # by the index of the leaf
    results: list[Value] = []
    numbers = iter(key)
    for call in calls:
        next(numbers)
        places = [next(numbers) for _ in call.leaves]
        graph = call.program.recording.graph
        values: dict[Value, Value] = {}
        for value, position in zip(graph.inputs, call.program.inputs.positions):
            place = places[position]
            if place >= 0 and place not in arguments:
                name = _unused(value.name or "", builder.inputs)
                leaf = leaves[place]  # an array is converted when it is uploaded, at the recording of its call
                type = leaf.dtype if is_default(value) and isinstance(leaf, Tensor) else value.type
                arguments[place] = builder.input(
                    name, type, value.dims, arrival=value.arrival, weak=value.weak, copied=value.copied
                )
            values[value] = arguments[place] if place >= 0 else results[~place]
        results += _replay(trace, call, graph, values)
    graph = builder.finish([results[n] for n in numbers])
    return Recording(graph, trace, leaves, list(arguments), several(len(graph.outputs)))


def _unused(name: str, taken: Sequence[Value]) -> str:
    """Returns `name`, with a number if an input has that name already."""
    names = {v.name for v in taken}
    return next(n for i in itertools.count(1) if (n := name if i == 1 else f"{name}_{i}") not in names)


def _replay(trace: Trace, call: Call, graph: Graph, values: dict[Value, Value]) -> list[Value]:
    """Records the graph of a call again, with other values for its inputs. Weak results are cast to their types."""
    sources = call.program.recording.trace.sources
    aliases = {alias: trace.module(source, call.program.device) for alias, source in sources.items()}
    lines = {node.loc for node in graph.nodes}
    line = line_of(call.place) if len(lines) == 1 else None  # the graph may come from an earlier call with the same key
    for node in graph.nodes:
        attrs, bodies = _renamed(node, aliases)
        operands = [values[v] for v in node.operands]
        made = trace.builder.add(node.op, operands, node.maps, attrs, line or node.loc, bodies)
        values.update(zip(node.results, made))
    found = [values[v] for v in graph.outputs]
    return [trace.builder.add(OPS["cast"], [v], None, {"type": v.type.name}, line)[0] if v.weak else v for v in found]


def _renamed(node: Node, aliases: Mapping[str, str]) -> tuple[Mapping[str, Attr], Sequence[Graph]]:
    """Replaces the module aliases in attributes and bodies of a node by those of another graph."""
    attrs = {**node.attrs, "module": aliases[node.text("module")]} if "module" in node.attrs else node.attrs
    return attrs, [_renamed_body(body, aliases) for body in node.bodies]


def _renamed_body(body: Graph, aliases: Mapping[str, str]) -> Graph:
    nodes: list[Node] = []
    for node in body.nodes:
        attrs, bodies = _renamed(node, aliases)
        nodes.append(Node(node.op, node.operands, node.maps, node.results, attrs, node.loc, bodies))
    return body.replace(nodes=nodes)
