"""The composition root: trace -> passes -> kernels -> `Program`. The only place where passes and backend meet."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import numpy as np

from fusepy.backend.emit import KernelSource, emit, region_operands
from fusepy.backend.kernel import Kernel, build_kernel
from fusepy.backend.marshals import ACCESSES, MARSHALS, marshal_of
from fusepy.backend.marshals.base import Variant
from fusepy.backend.options import NO_OPTIONS, Options
from fusepy.backend.plan import Plan
from fusepy.backend.shims import used_names
from fusepy.detours import Detours
from fusepy.element import Element
from fusepy.errors import ArgumentError, FusepyError, ResolveError, ShapeError
from fusepy.extents import NoExtents
from fusepy.generators import Generator, Grid, Linspace
from fusepy.ir.graph import Graph, Node
from fusepy.ir.ops.structure import check_range
from fusepy.ir.oracle import Oracle
from fusepy.ir.types import Kind, Type
from fusepy.mapping import Mapped
from fusepy.passes import run_pipeline
from fusepy.passes.fuse_chains import split_outputs
from fusepy.results import hand_back
from fusepy.tensor import Tensor, reinterpret
from fusepy.trace import Trace

Array = np.ndarray[Any, np.dtype[Any]]
Place = Callable[[Any], Any]
_LEADS = (
    "tensor",
    "numpy",
    "list",
    "vector",
    "scalar",
)  # the first of these among the arguments is what results become


@dataclass
class Recording:
    """What tracing a call gives: the graph, what its inputs are, and how results go back to Python.

    Attributes:
        arguments: what the caller passed, in order, nested arguments as their leaves.
        nested: whether there are any of these.
        inputs: for each input of the graph the argument behind it; captured values follow.
        rebuild: makes the caller's structure (a tuple, a dict, …) from a list of results.
        outs: for each result the argument that it is written to, or ``None``; eager calls with ``out`` and ``inout`` arguments.
        keep: for each result whether it is returned.
        names: what the arguments are called, for messages about those that are written to.
    """

    graph: Graph
    trace: Trace
    arguments: Sequence[Any]
    inputs: Sequence[int]
    rebuild: Callable[[list[Any]], Any]
    outs: Sequence[int | None] = ()
    keep: Sequence[bool] = ()
    names: Sequence[str] = ()
    nested: bool = False


class Program:
    """A compiled call: places arguments, runs its plan, and hands results back in the container that the caller expects."""

    def __init__(self, recording: Recording, returns: str | None, strict: bool, options: Options = NO_OPTIONS):
        self.home: tuple[dict[Any, Program], Any] = ({}, None)  # the table that holds it, from which a reload takes it
        device = self.device = recording.trace.device
        device.check()
        self.recording = recording
        self.strict = strict
        self.nested = recording.nested
        self.options = options.joined(recording.trace.options, recording.graph.name)
        self.oracle: Oracle = recording.trace.oracle
        self.sources = [recording.trace.sources[alias] for alias, _ in recording.graph.modules]
        self.graph = run_pipeline(recording.graph, self.oracle)
        self.captures = recording.trace.captures
        first = len(recording.arguments)
        self.positions = [*recording.inputs, *range(first, first + len(self.captures))]
        values = [*recording.arguments, *self.captures]
        self.places: list[Place | None] = [None] * len(values)
        for value, position in zip(self.graph.inputs, self.positions):
            self.places[position] = self._place(values[position], value.type, value.name or "")
        self.ready = not any(self.places) and not self.captures
        leads = {marshal_of(_inner(v)).returns for v in recording.arguments} or {"scalar"}
        self.returns = returns or next(r for r in _LEADS if r in leads)
        self.elements = [Element.of(v.type, self.oracle) for v in self.graph.outputs]
        self.checks = [
            (self.positions[i], m.type, v.name or "")
            for n in self.graph.nodes
            for v, m in zip(n.operands, n.maps)
            for i in [self.graph.inputs.index(v)]
            if v.container == "" and m.type is not None
        ]
        self.plan = self.plans(self.graph)[0] if self.graph.nodes else None
        if self.plan is not None and self.plan.open:
            raise NoExtents(self)
        self.detours = self._detours(values)
        self.split: list[Plan] | None = None
        outs = list(recording.outs) or [None] * len(self.elements)
        self.outs = outs if any(o is not None for o in outs) else None
        # the short way, for one tensor that is returned by itself and not in a tuple or dict of one
        self.simple = (
            self.outs is None
            and self.returns == "tensor"
            and recording.rebuild is hand_back
            and len(self.elements) == 1
            and self.detours is None
        )
        for source in self.sources:
            device.save_facts(source)

    # ---- running ------------------------------------------------------------------------------------------------

    def placed(self, args: Sequence[Any]) -> Sequence[Any]:
        """The arguments, and what was captured, as they are passed to the plan."""
        if self.ready:
            return args
        values = [*args, *self.captures] if self.captures else args
        return [value if place is None else place(value) for place, value in zip(self.places, values)]

    def __call__(self, args: Sequence[Any], result: Any = None) -> Any:
        """Runs the program on the arguments of its inputs."""
        device = self.device
        if device.lost is not None:
            device.check()
        if self.ready:
            placed = args
        else:
            values = [*args, *self.captures] if self.captures else args
            placed = [value if place is None else place(value) for place, value in zip(self.places, values)]
        if self.checks:
            self._check_numbers(placed)
        if self.simple:
            if result is None:
                assert self.plan is not None
                return self.plan.run(placed)[0]
            if result.__class__ is Tensor and result.element is self.elements[0]:
                assert self.plan is not None
                self.plan.run(placed, (result,))
                return result
        return self._general(args, placed, result)

    def record(self, args: Sequence[Any], result: Any, keep: list[Any]) -> Any:
        """Like a call, for work that somebody else submits later; what it uses is put into `keep`.

        Raises:
            ArgumentError: if a result would have to be read back.
        """
        written = [_inner(args[o]) for o in self.recording.outs if o is not None]
        wanted: list[Any] = list(cast("Sequence[Any]", result)) if isinstance(result, (tuple, list)) else [result]
        for given in [*written, *wanted]:
            if isinstance(given, np.ndarray):
                raise ArgumentError(
                    f"{self.graph.name}.append_to(): a result cannot be written to a NumPy array before it is computed",
                    saw=f"an array of shape {np.shape(cast('Array', given))}",
                    expected="a Tensor",
                    hint="pass a Tensor, and read it after you have submitted the encoder",
                )
        placed = self.placed(args)
        if self.checks:
            self._check_numbers(placed)
        handed = self._general(args, placed, result)
        keep += (placed, handed, result)
        return handed

    @cached_property
    def global_names(self) -> list[str]:
        """The globals of all modules that are called."""
        oracle = self.recording.trace.oracle
        return [name for alias, _ in self.recording.graph.modules for name in oracle.globals(alias)]

    def _check_numbers(self, placed: Sequence[Any]) -> None:
        """Numbers that the kernel converts for one of their uses must fit there too; packing checks what they are stored as."""
        for position, type, name in self.checks:
            check_range(placed[position], type, f"{self.graph.name}: argument {name!r}")

    def _general(self, args: Sequence[Any], placed: Sequence[Any], result: Any) -> Any:
        given = [None if o is None else _inner(args[o]) for o in self.outs] if self.outs else [None] * len(self.elements)
        if result is not None:
            given = self._given(result, given)
        outs = [self._destination(g, e, self._target(j)) for j, (g, e) in enumerate(zip(given, self.elements))]
        for j, out in enumerate(outs):
            if out is not None and any(o is not None and o.low < out.high and out.low < o.high for o in outs[:j]):
                raise ShapeError(
                    f"{self.graph.name}: {self._target(j)} shares memory with another result", hint="give each its own"
                )
        arrays = {j: cast("Array", g) for j, g in enumerate(given) if isinstance(g, np.ndarray)}
        shapes = self.out_shapes([_shape(v) for v in placed]) if arrays else []
        for j, array in arrays.items():  # before anything runs: a call that fails changes nothing
            self._check_target(array, shapes[j], self.elements[j], self._target(j))
            if any(np.may_share_memory(array, arrays[k]) for k in arrays if k < j):
                raise ShapeError(
                    f"{self.graph.name}: {self._target(j)} shares memory with another result", hint="give each its own"
                )
        ran = placed
        if self.detours is not None:
            ran = self.detours.enter([*args, *self.captures], placed, [*outs, *arrays.values()])
        results = self.execute(ran, outs if any(o is not None for o in outs) else None)
        if self.detours is not None:
            self.detours.leave([*args, *self.captures], placed, ran)
        for j, array in arrays.items():
            array[...] = results[j].to_numpy()
        handed: list[Any] = []
        for j, tensor in enumerate(results):
            target = given[j]
            keep = self.recording.keep[j] if self.recording.keep else True
            if keep:
                handed.append(target if target is not None else self.hand_out(tensor))
        return self.recording.rebuild(handed)

    def execute(self, placed: Sequence[Any], outs: Sequence[Tensor | None] | None) -> list[Tensor]:
        """Runs the one region, or a region per result where their extents share no grid."""
        if self.plan is None:
            return []
        try:
            return self.plan.run(placed, outs)
        except ShapeError:
            plans = self.plans_for([_shape(v) for v in placed])
            if plans == [self.plan]:
                raise
        return [p.run(placed, None if outs is None else [outs[j]])[0] for j, p in enumerate(plans)]

    def plans_for(self, shapes: Sequence[tuple[int, ...]]) -> list[Plan]:
        """The plans that run arguments of these shapes.

        Raises:
            ShapeError: if not even each result by itself has a grid.
        """
        if self.plan is None:
            return []
        try:
            self.plan.check(shapes)
        except ShapeError:
            if len(self.elements) < 2:
                raise
            if self.split is None:
                self.split = self.plans(split_outputs(self.resolved()))
            for plan in self.split:
                plan.check(shapes)
            return self.split
        return [self.plan]

    def out_shapes(self, shapes: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
        """The shapes of the results for arguments of these shapes, without the components of an element."""
        return [shape for plan in self.plans_for(shapes) for shape in plan.check(shapes).out_shapes]

    def hand_out(self, tensor: Tensor) -> Any:
        """A result in the container that the call returns."""
        if self.returns == "tensor":
            return tensor
        array = tensor.to_numpy()
        if self.returns == "numpy":
            return array
        if array.dtype.names is not None:
            return array  # a list of tuples would no longer say which struct it holds
        if array.ndim and self.returns == "vector":
            return array
        return array.item() if array.ndim == 0 else array.tolist()

    def _given(self, result: Any, given: list[Any]) -> list[Any]:
        """The ``_result=`` argument as destinations, in the order of results that have none yet."""
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

    def _target(self, j: int) -> str:
        """What result `j` is written to, for messages."""
        position = self.outs[j] if self.outs else None
        return "_result" if position is None else f"argument {self.recording.names[position]!r}"

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
                else "make it with np.empty(shape, dtype), or leave it away",
            )

    def _destination(self, given: Any, element: Element, name: str) -> Tensor | None:
        """The tensor that a result is written to directly; ``None`` where one is made and copied back."""
        if given is None or isinstance(given, Tensor):
            if given is not None and not given.element.same(element):
                return reinterpret(given, element) or given
            return given
        if isinstance(given, np.ndarray):
            if not given.flags.writeable:
                raise ShapeError(
                    f"{self.graph.name}: {name} is read-only",
                    saw=f"{given.dtype}{list(np.shape(given))}",
                    hint="pass a writable array",
                )
            return None
        raise ArgumentError(
            f"{self.graph.name}: {name}: a {type(given).__name__} cannot receive a result",
            saw=repr(given)[:60],
            expected="a Tensor or a NumPy array",
            hint="leave the out argument away to have it returned",
        )

    def shapes(self, args: Sequence[Any]) -> list[tuple[int, ...]]:
        """The shapes that the arguments, and what was captured, have on the device."""
        return [_shape(_inner(v)) for v in (*args, *self.captures)]

    def _detours(self, values: Sequence[Any]) -> Detours | None:
        """Of arguments that user code takes as whole arrays, those that may have to lie elsewhere."""
        if self.plan is None or not any(m.type is not None and m.type.kind is Kind.WHOLE for m in self.plan.region.maps):
            return None
        operands = region_operands(self.plan.region, self.device.target.kind == "cuda")
        whole = [(o, p) for o, p in zip(operands, self.plan.positions) if o.want.kind is Kind.WHOLE]
        return Detours.of(self.graph.name, [o for o, _ in whole], [p for _, p in whole], values)

    # ---- compiling ----------------------------------------------------------------------------------------------

    def resolved(self) -> Graph:
        """The graph before it is fused."""
        return run_pipeline(self.recording.graph, self.oracle, after="dce")

    def plans(self, fused: Graph) -> list[Plan]:
        """A plan per region of a fused graph."""
        position = dict(zip(fused.inputs, self.positions))
        plans: list[Plan] = []
        for region in fused.nodes:
            elements = [Element.of(v.type, self.oracle) for v in region.results]
            positions = [position[v] for v in region.operands]
            plans.append(Plan(self.device, region, positions, elements, self.build, self.strict, self.options.tile))
        return plans

    def source(self, region: Node, variant: Variant) -> KernelSource:
        """The Slang of one region in one variant."""
        imports = {a: self.recording.trace.oracle.imports(a, used_names(region, a)) for a, _ in self.graph.modules}
        try:
            return emit(
                region, variant, self.device.target, ACCESSES, imports, self._widest(region), self._functions(), self.options
            )
        except ResolveError as error:  # of a generator that fits no grid of this rank
            error.what = f"{self.graph.name}: {error.what}"
            raise

    def build(self, region: Node, variant: Variant) -> Kernel:
        return build_kernel(self.device, self.source(region, variant), self.sources)

    def _functions(self) -> set[str]:
        """Names of functions in the modules that kernels import."""
        oracle = self.recording.trace.oracle
        return {name for alias, _ in self.graph.modules for name in oracle.symbols(alias)["functions"]}

    def _widest(self, region: Node) -> int:
        """Bytes of the largest element that a thread of this region loads or stores."""
        types = [o.want for o in region_operands(region) if o.dims and o.want.kind is not Kind.POINTER]
        types += [v.type for v in region.results]
        return max((Element.of(t, self.oracle).nbytes for t in types), default=4)

    def _place(self, value: Any, wanted: Type, name: str) -> Place | None:
        """How an argument gets to the device as elements of `wanted`; ``None`` for what is passed as it is."""
        inner = _inner(value)
        marshal = MARSHALS[type(inner)]
        device, mapped = self.device, isinstance(value, Mapped)

        def place(value: Any) -> Any:
            try:
                return marshal.place(_inner(value), wanted, device)
            except FusepyError as error:
                error.what = f"{self.graph.name}: argument {name!r}: {error.what}"
                raise

        if isinstance(inner, Tensor):
            place(inner)  # checks the device; the key of a tensor holds it, so once is enough
            return (lambda v: v.value) if mapped else None
        if type(inner) in (float, int, bool) and not mapped:
            return None
        return place


def _shape(value: Any) -> tuple[int, ...]:
    if isinstance(value, (Tensor, Grid, Generator, Linspace)):
        return value.shape
    extents = getattr(MARSHALS.get(value.__class__), "extents", None)  # of what is placed as a grid
    return np.shape(value) if extents is None else extents(value)


def _inner(value: Any) -> Any:
    return value.value if isinstance(value, Mapped) else value
