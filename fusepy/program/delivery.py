"""`Delivery`: writes results to the destinations of the caller, or returns them in the container that the caller expects."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from fusepy.arguments.mapped import unmapped
from fusepy.arguments.nested import flat
from fusepy.backend.device.bound import Bound
from fusepy.backend.device.device import Device
from fusepy.backend.device.recorder import Written
from fusepy.backend.device.sink import Sink
from fusepy.backend.execute.executable import Executable
from fusepy.backend.execute.layouts import Layout
from fusepy.backend.kernels.globals import Bindings
from fusepy.backend.marshals.base import Maker, ResultKind
from fusepy.backend.marshals.registry import RESULTS, extents_of, waits
from fusepy.backend.memory.contents import copy_elements
from fusepy.backend.memory.element import Element
from fusepy.backend.memory.pending import before_effects, before_results
from fusepy.backend.memory.recast import flattened, packed_apart
from fusepy.backend.memory.storage import Storage, overlap
from fusepy.backend.memory.tensor import Tensor
from fusepy.ir.graph import Graph
from fusepy.program.destinations import Destinations
from fusepy.program.inputs import Inputs
from fusepy.program.relocation import Detours
from fusepy.pytree import LEAF
from fusepy.trace.prints.log import run_requests
from fusepy.trace.recording import Recording

PYTHONS = ("scalar", "list")  # kinds of results with Python's floats
HandedOut = Mapping[int, str]


@dataclass(frozen=True, eq=False, kw_only=True)
class Delivery:
    """The part of a `Program` that checks destinations before anything runs, and returns results afterwards.

    Attributes:
        graph: the call in regions.
        acts: True if it writes memory beside its results, so that running it twice may differ from running it once.
        returns: the word of the container in which results are returned.
        apart: the words of results that are returned in another one.
        detours: moves arrays that a kernel cannot reach in place.
        waits: True if a framework of the arguments needs the device to be idle afterwards.
        maker: makes the memory of results.
        run: runs the launches; see `Executable.run`.
    """

    device: Device
    recording: Recording
    graph: Graph
    inputs: Inputs
    destinations: Destinations
    executable: Executable
    acts: bool
    returns: str
    apart: HandedOut
    detours: Detours | None = None
    waits: bool = False
    maker: Maker | None = None
    run: Callable[..., list[Any]] = field(init=False)

    @property
    def elements(self) -> Sequence[Element]:
        """The elements of the results."""
        return self.destinations.elements

    def before(self, args: Sequence[Any], result: Any) -> None:
        """Runs the recorded calls of `lazy` that read memory which this call will write."""
        if self.acts or self.recording.grads:
            before_effects()
            return
        leaves = flat(args) if self.recording.nested else args
        before_results([result, *(unmapped(leaves[o]) for o in self.destinations.outs if o is not None)])

    def deliver(self, args: Sequence[Any], placed: Sequence[Any], result: Any, sink: Sink, bindings: Bindings | None) -> Any:
        """Runs the program with destinations for its results, and returns the results."""
        given = self._given(args, result)
        returned = len(given) - self.recording.printed
        make = RESULTS[self.returns].make
        if make is not None and any(g is None for g in given):
            shapes = self.out_shapes(placed)
            values = list(map(unmapped, args))
            own = zip(given[:returned], shapes, self.elements)
            given[:returned] = [make(self.device, s, e, values) if g is None else g for g, s, e in own]
        outs, arrays = self.destinations.memory(given, lambda: self.out_shapes(placed))
        for j, target in self.destinations.targets.items():
            if outs[j] is None:
                outs[j] = target.create(self.device, self.out_shapes(placed)[j])
        beside = self._beside(placed, outs)
        ran = placed
        if self.detours is not None:
            ran = self.detours.enter(self.inputs.values(args), placed, [*outs, *arrays.values()], sink)
        results = self.run(ran, outs if any(o is not None for o in outs) else None, sink, bindings, self.maker)
        for j, target in beside.items():
            copy_elements(results[j] if results[j].element.same(target.element) else flattened(results[j]), target, sink)
            results[j] = target
        if sink.keeps:
            sink.keep(Written(results))
        if self.detours is not None:
            self.detours.leave(self.inputs.values(args), placed, ran, sink)
        if self.waits or waits(given):
            self.device.wait()
        for j, array in arrays.items():
            array[...] = results[j].to_numpy()
        handed: list[Any] = []
        for j, tensor in enumerate(results[:returned]):
            target = given[j]
            keep = self.recording.keep[j] if self.recording.keep else True
            if keep:
                handed.append(target if target is not None else self.hand_out(tensor, j))
        if self.recording.prints:
            sink.after(partial(run_requests, self.recording.prints, results[returned:]))
        structure = self.recording.structure
        return handed[0] if structure is LEAF else structure.fill(handed)

    def out_shapes(self, placed: Sequence[Any]) -> list[tuple[int, ...]]:
        """Returns the shapes of the results for these arguments, without the components of an element."""
        return self.executable.lower([laid_out(v) for v in placed]).out_shapes

    def check(self, args: Sequence[Any], result: Any) -> None:
        """Raises the errors of a call about its destinations, as far as they are known before it runs.

        Raises:
            ArgumentError, ShapeError, UnsupportedArgumentError: for a destination that does not fit its result.
        """
        values = list(map(unmapped, self.inputs.values(args)))
        outs, _ = self.destinations.memory(self._given(args, result), lambda: self.out_shapes(values))
        self._beside(values, outs)
        self.executable.check(list(map(laid_out, values)), [None if is_pending(v) else v for v in values], outs)

    def _beside(self, placed: Sequence[Any], outs: list[Any]) -> dict[int, Any]:
        """Replaces destinations that no kernel can write to, and returns them: they are copied to afterwards.

        These are fields of structs, numbers that are not packed as the elements of the result are (``float3`` into every second
        column), and memory that views of arguments read: other threads may still read it.
        """
        found: dict[int, Any] = {}
        for j, (out, element) in enumerate(zip(outs, self.elements)):
            packed = None
            if out.__class__ is Tensor.of_field:
                packed = Tensor.empty_like(out)
            elif out.__class__ is Tensor and out.element is not element:
                packed = packed_apart(out, element)
            if packed is not None:
                found[j], outs[j] = out, packed
        views = [placed[at] for at in self.inputs.moved if isinstance(placed[at], Storage)]
        seen = [(view.low, view.high, view) for view in views]
        for j, out in enumerate(outs) if seen else ():
            if j in found or not isinstance(out, Storage):
                continue
            low, high = out.low, out.high  # most views lie elsewhere: a call of `overlap` for each of them takes long
            if any([a < high and low < b and overlap(view, out) for a, b, view in seen]):  # noqa: C419
                found[j] = out
                outs[j] = Tensor.empty_like(found[j])
        return found

    def _given(self, args: Sequence[Any], result: Any) -> list[Any]:
        """Returns the destination of each result: an ``out`` argument, the next one of ``_result=``, or None."""
        outs = self.destinations.outs or [None] * len(self.elements)
        given: list[Any] = [None if o is None else unmapped(args[o]) for o in outs]
        for j in self.recording.grads:
            given[j] = given[j].grad
        return given if result is None else self.destinations.joined(result, given)

    @property
    def result_kind(self) -> ResultKind:
        """The kind of the results that a call returns."""
        return RESULTS[self.returns]

    def hand_out(self, tensor: Tensor | Bound, j: int) -> Any:
        """Returns result `j` in the container that the call returns."""
        if isinstance(tensor, Bound):
            return tensor.value
        return RESULTS[self.apart.get(j, self.returns)].hand_out(tensor)


def shape_of(value: Any) -> tuple[int, ...]:
    """Returns the shape of an argument on the device."""
    return extents_of(unmapped(value))


def laid_out(value: Any) -> Layout:
    """Returns the layout of an argument on the device; an array becomes a contiguous tensor."""
    inner = unmapped(value)
    return Layout.expected(inner, extents_of)


def is_pending(value: Any) -> bool:
    """True if a value is a tensor of `lazy` that is not computed yet, and so has no memory."""
    return getattr(value, "pending", None) is not None
