"""Calls inside ``torch.compile``: each is one custom operator of torch, so that the graph of torch does not break.

TorchDynamo traces `in_graph` for ``DeviceFunction.__call__``. The operator runs the call, or plans it if torch asks for shapes.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Any, cast

import numpy as np

from fusepy.backend.torch import need_torch
from fusepy.errors import ArgumentError, GradientError
from fusepy.functions.autograd import is_tracked, pullback_of
from fusepy.functions.call import bound
from fusepy.functions.parts import AnyFunction, needs_bind
from fusepy.functions.pullback import wanted_places
from fusepy.location import user_line
from fusepy.pytree import LEAF, Structure, flatten

TENSOR, FLOAT = "\0 a tensor", "\0 a float"  # stand for arguments of the operator; TorchDynamo takes strings as constants


class Placeholder(str):
    """Such a string. A plain one would be a static argument."""


def _each(value: Any, change: Callable[[Any], Any]) -> Any:
    """Returns arguments with other leaves."""
    leaves, structure = flatten(value)
    return structure.fill(map(change, leaves))


PLANNED: dict[str, GraphCall] = {}  # graphs of torch name a call by its key here, and may outlive everything else
_SESSION = uuid.uuid4().hex  # torch keeps graphs on disk: a key must not mean another call in another process


def in_graph(self: Any, *args: Any, _result: Any = None, **kwargs: Any) -> Any:
    """Records the call of a function in a graph of torch. It is written so that TorchDynamo can trace it.

    Python floats are arguments of the operator, so that other numbers need no new graph; all else is part of the graph.
    """
    import torch

    tensors: list[Any] = []
    floats: list[float] | None = None if getattr(self.tracer, "static", None) else []
    by_place = [_split(value, tensors, floats) for value in args]
    named = {name: _split(value, tensors, floats) for name, value in kwargs.items()}
    # a method, since torch before 2.13 passes no objects to functions that it runs; id() has torch guard which one is called
    name = self._plan_in_graph(id(self), by_place, named, _result)
    return _filled(name, 0, torch.ops.fusepy.call(tensors, floats or [], name))


def _split(value: Any, tensors: list[Any], floats: list[float] | None) -> Any:
    """Moves the tensors and floats of an argument to lists, and returns the argument with their stand-ins."""
    if isinstance(value, dict):
        return {name: _split(inner, tensors, floats) for name, inner in cast("dict[str, Any]", value).items()}
    if isinstance(value, (list, tuple)):
        parts = [_split(inner, tensors, floats) for inner in cast("list[Any]", value)]
        return parts if isinstance(value, list) else tuple(parts)
    if isinstance(value, float) and floats is not None:
        floats.append(value)
        return FLOAT
    if hasattr(value, "requires_grad"):
        tensors.append(value)
        return TENSOR
    return value


def _filled(name: str, at: int, results: Any) -> Any:
    """Returns part `at` of the result of a call."""
    kind = _part(name, at, "kind", 0)
    if kind == "leaf":
        return results[_part(name, at, "part", 0)]
    parts = [_filled(name, _part(name, at, "part", i), results) for i in range(_part(name, at, "count", 0))]
    if kind == "dict":
        return {_part(name, at, "key", i): part for i, part in enumerate(parts)}
    return parts if kind == "list" else tuple(parts)


class GraphCall:
    """A call in a graph of torch.

    Attributes:
        args, named: its arguments, with stand-ins for tensors and floats.
        parts: what it returns, and the parts of that: the kind, keys, and places of the parts; for a leaf, that of the result.
        places: the tensors among the leaves of its arguments; -1 for an item of a list that is one array.
        back: its pullbacks: their names in `PLANNED`, by results with gradients and by tensors that need one.
    """

    places: list[int]

    def __init__(self, callee: Any, args: Sequence[Any], named: Mapping[str, Any]):
        self.callee = callee
        held = {TENSOR: Placeholder(TENSOR), FLOAT: Placeholder(FLOAT)}
        self.args, self.named = _each([args, dict(named)], lambda v: held.get(v, v) if isinstance(v, str) else v)
        self.parts: list[tuple[str, tuple[Any, ...], tuple[int, ...]]] = []
        self.back: dict[Any, str] = {}

    def _given(self, tensors: Sequence[Any], floats: Sequence[float]) -> tuple[list[Any], dict[str, Any]]:
        """Returns the arguments of a call, by position and by name."""
        left: dict[str, Iterator[Any]] = {TENSOR: iter(tensors), FLOAT: iter(floats)}
        return _each((self.args, self.named), lambda value: next(left[value]) if isinstance(value, Placeholder) else value)

    def run(self, tensors: Sequence[Any], floats: Sequence[float]) -> list[Any]:
        """Runs the call and returns its results."""
        args, named = self._given(tensors, floats)
        with need_torch().no_grad():  # the operator has a gradient, and not what it runs
            return flatten(self.callee(*args, _result="torch", **named))[0]

    def plan(self, tensors: Sequence[Any], floats: int) -> list[tuple[tuple[int, ...], str]]:
        """Returns shapes and dtypes of the results for such tensors, which may have no data.

        Raises:
            ArgumentError: if the call writes to an argument.
            GradientError: if the function takes a tensor that requires gradients from outside.
        """
        arrays = [np.empty(tuple(map(int, t.shape)), str(t.dtype).removeprefix("torch.")) for t in tensors]
        args, named = self._given(arrays, [1.0] * floats)
        callee, lowered = self.callee, self.callee.lower(*args, **named)
        program, recording = lowered.program, lowered.recording
        inside, line = "in a graph of torch.compile", user_line()
        if any(out is not None for out in recording.outs):
            hint = "omit the arguments that are written, to get the results returned"
            raise ArgumentError(f"{callee.__name__}: a call that writes to its arguments, {inside}", place=line, hint=hint)
        if any(map(is_tracked, recording.trace.captures)):
            what = f"{callee.__name__} takes a torch tensor that requires gradients from outside, {inside}"
            raise GradientError(what, place=line, hint="pass it as an argument")
        self.parts, returned = [], len(program.elements) - recording.printed
        self._add(recording.structure, iter(range(returned)))
        self.places = [next((i for i, leaf in enumerate(lowered.leaves) if leaf is array), -1) for array in arrays]
        found = zip(program.tape(lowered.leaves).out_shapes[:returned], program.elements)
        return [(tuple(shape) + element.shape, str(element.dtype)) for shape, element in found]

    def _add(self, structure: Structure, leaves: Iterator[int]) -> int:
        """Adds a part of the result, and returns its place.

        Raises:
            ArgumentError: for containers that TorchDynamo cannot make.
        """
        at = len(self.parts)
        self.parts.append(("leaf", (), (next(leaves),) if structure is LEAF else ()))
        if structure is LEAF:
            return at
        kind = structure.cls.__name__
        if structure.cls not in (dict, list, tuple):
            what = f"{self.callee.__name__} returns a {kind}, in a graph of torch.compile"
            raise ArgumentError(what, hint="return tensors, or tuples, lists and dicts of them")
        self.parts[at] = (kind, structure.keys, tuple([self._add(part, leaves) for part in structure.parts]))
        return at

    def pullback(self, seeds: tuple[int, ...], needed: tuple[bool, ...]) -> str:
        """Returns the name of the call that computes the gradients of the tensors that need one."""
        if (seeds, needed) not in self.back:
            wanted = wanted_places(self.places, needed)
            callee, args, named = self.callee, self.args, self.named
            if needs_bind(callee.tracer, args, named):
                callee, args, named, _ = bound(callee, tuple(args), named, None)
            pull = pullback_of(callee, len(args), tuple(named), seeds, wanted, (), sparse=False)
            self.back[seeds, needed] = held(GraphCall(pull, [*args, *named.values(), *[Placeholder(TENSOR)] * len(seeds)], {}))
        return self.back[seeds, needed]


def held(call: GraphCall) -> str:
    """Holds a call, and returns its name."""
    PLANNED[name := f"{call.callee.__name__} {_SESSION}:{len(PLANNED)}"] = call
    return name


def plan_in_graph(callee: AnyFunction, _id: int, args: Sequence[Any], named: Mapping[str, Any], result: Any) -> str:
    """Holds a call, and returns its name in `PLANNED`."""
    _define()
    if result is not None:
        raise ArgumentError(f"{callee.__name__}: _result= in torch.compile", hint="use what the call returns")
    return held(GraphCall(callee, args, named))


def _part(name: str, at: int, what: str, i: int) -> Any:
    """Returns a property of a part of the result, as a number or text: TorchDynamo takes no other constants."""
    kind, keys, parts = PLANNED[name].parts[at]
    return {"kind": kind, "count": len(parts), "key": keys[i] if keys else None, "part": parts[i] if parts else None}[what]


# TorchDynamo runs these, and takes what they return as constants
plan_in_graph._dynamo_marked_constant = _part._dynamo_marked_constant = True  # type: ignore[attr-defined]
plan_in_graph.__name__ = "_plan_in_graph"  # the method's name


@cache
def _define() -> None:
    """Defines the operator ``fusepy::call``."""
    torch = need_torch()
    from torch import library

    def run(tensors: Any, floats: Any, name: str) -> Any:
        return PLANNED[name].run(tensors, floats)

    def shapes(tensors: Any, floats: Any, name: str) -> Any:
        made = PLANNED[name].plan(tensors, len(floats))
        device = tensors[0].device if tensors else "cpu"
        return [torch.empty(shape, dtype=getattr(torch, dtype), device=device) for shape, dtype in made]

    def keep(ctx: Any, inputs: Any, output: Any) -> None:
        tensors, ctx.floats, ctx.name = inputs
        ctx.save_for_backward(*tensors)

    def back(ctx: Any, gradients: Any) -> Any:
        needed = tuple(ctx.needs_input_grad[0])
        seeds = tuple(j for j, g in enumerate(gradients) if g is not None)
        given = [*ctx.saved_tensors, *(gradients[j] for j in seeds)]
        made = iter(torch.ops.fusepy.call(given, ctx.floats, PLANNED[ctx.name].pullback(seeds, needed)))
        return [next(made) if need else None for need in needed], None if ctx.floats else [], None  # [] counts as tensors

    schema = "(Tensor[] tensors, float[] floats, str name) -> Tensor[]"
    operator = library.custom_op("fusepy::call", run, mutates_args=(), schema=schema)
    operator.register_fake(shapes)
    operator.register_autograd(back, setup_context=keep)
