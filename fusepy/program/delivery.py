"""`Delivery`: writes results to the destinations of the caller, or returns them in the container that the caller expects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from fusepy.arguments.mapping import unmapped
from fusepy.arguments.nested import flat
from fusepy.backend.device.bound import Bound
from fusepy.backend.device.device import Device
from fusepy.backend.device.recorder import Written
from fusepy.backend.device.sink import Sink
from fusepy.backend.execute.layouts import Layout
from fusepy.backend.execute.texture_results import Into, Target
from fusepy.backend.kernels.globals import Bindings
from fusepy.backend.marshals.base import ResultKind
from fusepy.backend.marshals.registry import RESULTS, extents_of, host_array, waits
from fusepy.backend.marshals.result_kinds import check_type, destination, dimensions, in_grid_order
from fusepy.backend.memory.element import Element
from fusepy.backend.memory.pending import before_effects, before_results
from fusepy.backend.memory.recast import reinterpret
from fusepy.backend.memory.storage import overlap
from fusepy.backend.memory.tensor import Tensor
from fusepy.errors import ArgumentError, ShapeError
from fusepy.ir.argmap import UNSAID, ArgMap
from fusepy.ir.graph import Graph
from fusepy.ir.oracle import Oracle
from fusepy.program.relocation import Detours
from fusepy.pytree import LEAF

if TYPE_CHECKING:
    from fusepy.trace.recording import Recording

Array = np.ndarray[Any, np.dtype[Any]]


Run = Callable[[Sequence[Any], "Sequence[Any] | None", Sink, "Bindings | None"], "list[Any]"]


class Delivery:
    """The part of a `Program` that checks destinations before anything runs, and returns results afterwards."""

    device: Device
    graph: Graph
    recording: Recording
    elements: list[Element]
    outs: list[int | None] | None
    oracle: Oracle
    asked: str | Into | None
    said: dict[int, ArgMap]
    targets: dict[int, Target]
    returns: str
    captures: list[Any]
    detours: Detours | None
    waits: bool
    nested: bool
    acts: bool
    run: Run

    def values(self, args: Sequence[Any]) -> list[Any]:
        raise NotImplementedError

    def out_shapes(self, placed: Sequence[Any]) -> list[tuple[int, ...]]:
        raise NotImplementedError

    def settle(self, outs: Sequence[int | None], asked: str | Into | None) -> None:
        """Sets the mappings of destinations: those of ``out`` arguments, and those in ``_result=``.

        Raises:
            UnsupportedArgumentError: for one under `vcast` to another type than it receives.
        """
        self.asked = asked
        free = [j for j, position in enumerate(outs) if position is None]
        given = zip(free, asked.maps) if isinstance(asked, Into) else ()
        self.said = {**self.recording.said, **{j: map for j, map in given if map != UNSAID}}
        for j, said in self.said.items():
            type = self.graph.outputs[j].type
            if said.type not in (None, type) and self.oracle.conforming(type) is None:
                check_type(said, type, self.named(j))

    def before(self, args: Sequence[Any], result: Any) -> None:
        """Runs the recorded calls of `lazy` that read memory which this call will write."""
        if self.acts or self.recording.grads:
            before_effects()
            return
        leaves = flat(args) if self.nested else args
        before_results([result, *(unmapped(leaves[o]) for o in self.outs or () if o is not None)])

    def deliver(self, args: Sequence[Any], placed: Sequence[Any], result: Any, sink: Sink, bindings: Bindings | None) -> Any:
        given: list[Any] = (
            [None if o is None else unmapped(args[o]) for o in self.outs] if self.outs else [None] * len(self.elements)
        )
        for j in self.recording.grads:
            given[j] = given[j].grad
        if result is not None:
            given = self._given(result, given)
        make = RESULTS[self.returns].make
        if make is not None and any(g is None for g in given):
            shapes = self.out_shapes(placed)
            values = list(map(unmapped, args))
            given = [make(self.device, s, e, values) if g is None else g for g, s, e in zip(given, shapes, self.elements)]
        targets: list[Any] = [
            g if g is None or j in self.targets else destination(g, self.device, self.named(j), self.elements[j])
            for j, g in enumerate(given)
        ]
        for j, said in self.said.items():
            if targets[j] is not None:
                targets[j] = self._turned(j, said, targets[j], placed)
        outs: list[Any] = [
            self._destination(t, e, self._target(j)) if j not in self.targets else self._texture(j, t, placed)
            for j, (t, e) in enumerate(zip(targets, self.elements))
        ]
        for j, out in enumerate(outs):
            for k, other in enumerate(outs[:j]):
                if overlap(other, out):
                    raise self._shared(j, k)
        arrays: dict[int, Array] = {j: t for j, t in enumerate(targets) if isinstance(t, np.ndarray)}
        shapes = self.out_shapes(placed) if arrays else []
        for j, array in arrays.items():  # before anything runs: a call that fails changes nothing
            self._check_target(array, shapes[j], self.elements[j], self._target(j))
            for k, other in arrays.items():
                if k < j and np.may_share_memory(array, other):
                    raise self._shared(j, k)
        ran = placed
        if self.detours is not None:
            ran = self.detours.enter(self.values(args), placed, [*outs, *arrays.values()], sink)
        results = self.run(ran, outs if any(o is not None for o in outs) else None, sink, bindings)
        if sink.keeps:
            sink.keep(Written(results))
        if self.detours is not None:
            self.detours.leave(self.values(args), placed, ran, sink)
        if self.waits or waits(given):
            self.device.wait()
        for j, array in arrays.items():
            array[...] = results[j].to_numpy()
        handed: list[Any] = []
        for j, tensor in enumerate(results):
            target = given[j]
            keep = self.recording.keep[j] if self.recording.keep else True
            if keep:
                handed.append(target if target is not None else self.hand_out(tensor))
        structure = self.recording.structure
        return handed[0] if structure is LEAF else structure.fill(handed)

    @property
    def result_kind(self) -> ResultKind:
        """The kind of the results that a call returns."""
        return RESULTS[self.returns]

    def hand_out(self, tensor: Tensor | Bound) -> Any:
        """Returns a result in the container that the call returns."""
        if isinstance(tensor, Bound):
            return tensor.value
        return self.result_kind.hand_out(tensor)

    def _given(self, result: Any, given: list[Any]) -> list[Any]:
        """Returns all destinations: those of ``_result=`` go to the results that have none yet, in order."""
        several = isinstance(result, (tuple, list)) and len(self.elements) > 1
        wanted: list[Any] = list(cast("Sequence[Any]", result)) if several else [result]
        free = [j for j, g in enumerate(given) if g is None]
        if len(wanted) > len(free) or (several and len(wanted) != len(free)):
            raise ArgumentError(
                f"{self.graph.name}: {len(wanted)} results are given, there are {len(free)}", hint="give one tensor per result"
            )
        for j, target in zip(free, wanted):
            given[j] = target
        return given

    def _turned(self, j: int, said: ArgMap, target: Any, placed: Sequence[Any]) -> Any:
        """Returns the destination of result `j` with its axes in the order of the grid."""
        rank = self.graph.outputs[j].rank
        if j not in self.targets:
            shape = self.out_shapes(placed)[j]
            return in_grid_order(target, dimensions(said, rank, target.ndim, self.named(j)), shape, self.named(j))
        if dimensions(said, rank, rank, self.named(j)) != tuple(range(rank)):
            raise ShapeError(
                f"{self.named(j)} is a texture, which is written in the order of the grid",
                saw=ArgMap(said.dims),
                expected=ArgMap(tuple(range(rank))),
                hint="map the arguments along the axes of the texture instead, or write to a tensor",
            )
        return target

    def _target(self, j: int) -> str:
        """Returns the name of result `j`'s destination, for messages."""
        position = self.outs[j] if self.outs else None
        return "_result" if position is None else f"argument {self.recording.names[position]!r}"

    def named(self, j: int) -> str:
        """Returns the name of the function and of result `j`'s destination, for messages."""
        return f"{self.graph.name}: {self._target(j)}"

    def _check_target(self, target: Array, batch: tuple[int, ...], element: Element, name: str) -> None:
        """Raises `ShapeError` if an array that receives a result has another shape or dtype."""
        shape, dtype = batch + element.shape, element.dtype
        if target.shape != shape or target.dtype != dtype:
            raise ShapeError(
                f"{self.graph.name}: {name} does not fit the result",
                saw=f"{target.dtype}{list(target.shape)}",
                expected=f"{dtype}{list(shape)}",
                hint="give it an element per thread, or pass a list or number, which are not written to"
                if "." in name
                else "make it with np.empty(shape, dtype), or omit it",
            )
        if target.size and any(n > 1 and not s for n, s in zip(target.shape, target.strides)):
            raise ShapeError(
                f"{self.graph.name}: {name} repeats elements", saw=f"strides {target.strides}", hint="give a real array"
            )

    def _destination(self, given: Tensor | Array | None, element: Element, name: str) -> Tensor | None:
        """Returns the tensor that a result is written to directly; ``None`` for an array that is copied to afterwards."""
        if given is None:
            return None
        host = host_array(given)
        if host is None:
            tensor = cast("Tensor", given)
            seen = None if tensor.element.same(element) else reinterpret(tensor, element)
            return tensor if seen is None else seen
        if not host.flags.writeable:
            raise ShapeError(
                f"{self.graph.name}: {name} is read-only",
                saw=f"{host.dtype}{list(host.shape)}",
                hint="pass a writable array; numbers that are read as structs lie together and have the types of the members",
            )
        return None

    def _shared(self, j: int, k: int) -> ShapeError:
        """Returns the error for two results that share memory."""
        what = f"{self.graph.name}: {self._target(j)} shares memory with another result, {self._target(k)}"
        return ShapeError(what, saw=f"results {k} and {j} of {len(self.elements)}", hint="give each its own")

    def _texture(self, j: int, given: Any, placed: Sequence[Any]) -> Bound:
        """Returns the texture of a result: the destination, or a new one."""
        target = self.targets[j]
        if given is not None:
            return target.place(given, self.device)
        return target.create(self.device, self.out_shapes(placed)[j])


def shape_of(value: Any) -> tuple[int, ...]:
    """Returns the shape of an argument on the device."""
    return extents_of(unmapped(value))


def laid_out(value: Any) -> Layout:
    """Returns the layout of an argument on the device; an array becomes a contiguous tensor."""
    inner = unmapped(value)
    return Layout.of(inner) if isinstance(inner, Tensor) else Layout.contiguous(extents_of(inner))
