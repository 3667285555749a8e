"""`Program`: a compiled call, from the trace through the passes to its kernels."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from fusepy.arguments.mapped import unmapped
from fusepy.backend.device.recorder import Written
from fusepy.backend.device.sink import Sink
from fusepy.backend.emit.options import NO_OPTIONS, Options
from fusepy.backend.execute.readback import Readback
from fusepy.backend.execute.tape import Tape
from fusepy.backend.execute.texture_results import Into, Target
from fusepy.backend.kernels.globals import Bindings
from fusepy.backend.marshals.registry import RESULTS, waits
from fusepy.backend.marshals.result_kinds import leading, stream_of
from fusepy.backend.memory.element import Element
from fusepy.backend.memory.structs import ArgumentView
from fusepy.backend.memory.tensor import Tensor
from fusepy.ir.graph import Graph
from fusepy.ir.narrowing import narrowed_uses
from fusepy.ir.oracle import Oracle
from fusepy.ir.types import Type
from fusepy.passes.effects import is_pure
from fusepy.passes.pipeline import REWRITES, run_pipeline
from fusepy.program.delivery import Delivery, laid_out
from fusepy.program.lowering import Lowering
from fusepy.program.placement import Place, all_open, number_checks, place_of, refuse_copies, warn_narrowed
from fusepy.program.readback import check_recordable
from fusepy.program.relocation import Detours
from fusepy.program.streams import placed_for_encoder, run_on_stream
from fusepy.program.texture_targets import texture_targets
from fusepy.pytree import LEAF
from fusepy.trace.moves.inputs import MovedView
from fusepy.trace.recording import Recording


class Program(Delivery):
    """A compiled call: places arguments, runs the launches, and returns results in the container that the caller expects."""

    def __init__(self, recording: Recording, returns: str | Into | None, strict: bool, options: Options = NO_OPTIONS):
        self.home: tuple[dict[Any, Program], Any] = ({}, None)  # the table that holds it, from which a reload takes it
        device = self.device = recording.trace.device
        device.check()
        self.recording = recording
        self.strict = strict
        self.may_set: tuple[str, ...] = ()  # the names of globals that the last call has set
        self.nested = recording.nested
        self.options = options.joined(recording.trace.options, recording.graph.name)
        self.oracle: Oracle = recording.trace.oracle
        self.sources = [recording.trace.sources[alias] for alias, _ in recording.graph.modules]
        self.graph = run_pipeline(recording.graph, self.oracle)
        self.captures = recording.trace.captures
        first = len(recording.arguments)
        self.positions = [*recording.inputs, *range(first, first + len(self.captures))]
        self.views = any(isinstance(c, ArgumentView) for c in self.captures)
        self.moved = [first + i for i, c in enumerate(self.captures) if isinstance(c, MovedView)]
        values = self.values(recording.arguments)
        self.narrows = self._narrowed()
        self.places: list[Place | None] = [None] * len(values)
        for value, position in zip(self.graph.inputs, self.positions):
            what = f"{self.graph.name}: argument {value.name!r}"
            self.places[position] = place_of(device, values[position], value, what, self.narrows.get(position, ()))
        self.ready = not any(self.places) and not self.captures
        self.returns = returns if isinstance(returns, str) else leading(map(unmapped, recording.arguments)).word
        self.elements = [Element.of(v.type, self.oracle) for v in self.graph.outputs]
        self.checks = number_checks(self.graph, recording.graph, self.positions)
        refuse_copies(self.graph, self.positions, values)
        outs = list(recording.outs) or [None] * len(self.elements)
        self.outs = outs if any(o is not None for o in outs) else None
        # true if it writes memory beside its results, so that running it twice may differ from running it once
        self.acts = not all(is_pure(n) for region in self.graph.nodes for body in region.bodies for n in body.nodes)
        self.writes = self.acts or self.outs is not None
        self.recorded: Any = None  # the recording of `lazy`, after the first recorded call
        self.targets: dict[int, Target] = {}
        self.settle(outs, returns)
        self._lower()
        self.open = self.executable.open or all_open([values[p] for v, p in zip(self.graph.inputs, self.positions) if v.rank])
        if self.open:
            recording.arguments = ()
            return
        self.detours = Detours.of(self.graph.name, self.executable.plans, values)
        self.targets |= texture_targets(self.graph, recording, outs, returns, self.returns == "texture")
        if self.targets:
            self._lower()
        given, maker = list(map(unmapped, values)), RESULTS[self.returns].maker
        self.waits, self.maker = waits(given), maker and maker(device, given)
        self.follows = None if device.cuda is None else stream_of(given)  # tells the CUDA stream of another framework
        self.readback = self._readback()
        # the short way, for one result that is returned by itself and not in a tuple or dict of one
        self.simple = (
            bool(self.graph.nodes)
            and self.outs is None
            and not self.said
            and RESULTS[self.returns].make is None
            and recording.structure is LEAF
            and self.detours is None
            and not self.targets
            and not self.waits
            and self.readback is None
        )
        self.convert = None if self.returns == "tensor" else RESULTS[self.returns].hand_out
        recording.classes = [type(unmapped(v)).__name__ for v in recording.arguments]
        recording.trace.given.clear()
        recording.arguments = ()  # a program must not keep the arguments of its first call alive
        device.save_facts()

    def _narrowed(self) -> dict[int, list[Type]]:
        """Returns the arguments that the upload converts, each with the smaller types."""
        uses = narrowed_uses(self.recording.graph, self.oracle)
        return {p: uses[v] for v, p in zip(self.recording.graph.inputs, self.positions) if v in uses}

    def _readback(self) -> Readback | None:
        """Returns the `Readback` of a program with one result without axes that becomes a Python number."""
        if self.outs is not None or self.recording.structure is not LEAF:
            return None
        if self.detours is not None:
            return None
        if not self.result_kind.number or self.graph.outputs[0].rank or not Readback.takes(self.elements[0]):
            return None
        return Readback(self.device, self.elements[0])

    # ---- running ------------------------------------------------------------------------------------------------

    def values(self, args: Sequence[Any]) -> list[Any]:
        """Returns the arguments and the captured values."""
        at = self.positions if self.views else ()
        return [*args, *(c.of(unmapped(args[at[c.place]])) if at and isinstance(c, ArgumentView) else c for c in self.captures)]

    def placed(self, args: Sequence[Any]) -> Sequence[Any]:
        """Returns the arguments and the captured values as they are passed to the launches."""
        if self.ready:
            return args
        values = self.values(args) if self.captures else args
        placed = [value if place is None else place(value) for place, value in zip(self.places, values)]
        if self.narrows:
            warn_narrowed(self.narrows)
        return placed

    def __call__(
        self, args: Sequence[Any], result: Any = None, sink: Sink | None = None, bindings: Bindings | None = None
    ) -> Any:
        """Runs the program on the arguments of its inputs.

        Args:
            sink: the destination of its launches; None is the queue of its device.
            bindings: the values of globals.

        Raises:
            ArgumentError: if the user submits the work later, and a result would have to be read back.
        """
        device = self.device
        if device.lost is not None:
            device.check()
        if sink is None:
            sink = device.queue
            if self.follows is not None:
                return run_on_stream(self, self.follows, args, result, sink, bindings)
        elif sink.keeps:
            return self._record(args, result, sink, bindings)
        placed = args if self.ready else self.placed(args)
        if self.checks:
            self._check_numbers(placed)
        if self.simple:
            if result is None:
                made = self.run(placed, None, sink, bindings)[0]
                return made if self.convert is None else self.convert(made)
            if result.__class__ is Tensor and result.element is self.elements[0] and not self.moved:
                self.run(placed, (result,), sink, bindings)
                return result
        elif self.readback is not None and result is None:
            return self.readback(self.run, placed, sink, bindings)
        return self.deliver(args, placed, result, sink, bindings)

    def tape(self, args: Sequence[Any]) -> Tape:
        """Returns the tape for arguments like these, without destinations; arrays count as contiguous tensors.

        Raises:
            ShapeError: if they do not fit together.
        """
        return self.executable.lower([laid_out(v) for v in self.values(args)])

    def out_shapes(self, placed: Sequence[Any]) -> list[tuple[int, ...]]:
        """Returns the shapes of the results for these arguments, without the components of an element."""
        return self.executable.lower([laid_out(v) for v in placed]).out_shapes

    def _record(self, args: Sequence[Any], result: Any, sink: Sink, bindings: Bindings | None) -> Any:
        """Runs the program into a sink that the user submits later, and that keeps alive the memory that the work uses."""
        check_recordable(self.graph.name, [unmapped(args[o]) for o in self.recording.outs if o is not None], result)
        self._check_numbers(placed := placed_for_encoder(self, args))
        handed = self.deliver(args, placed, result, sink, bindings)
        sink.keep(Written(placed) if self.acts else placed, handed, result)
        return handed

    @cached_property
    def global_names(self) -> list[str]:
        """The globals of all modules that are called."""
        oracle = self.recording.trace.oracle
        return [name for alias, _ in self.recording.graph.modules for name in oracle.globals(alias)]

    def _check_numbers(self, placed: Sequence[Any]) -> None:
        for position, check in self.checks:
            check(placed[position])

    # ---- compiling ----------------------------------------------------------------------------------------------

    def resolved(self) -> Graph:
        """Returns the graph before it is fused."""
        return run_pipeline(self.recording.graph, self.oracle, REWRITES)

    def _lower(self) -> None:
        """Makes the executable of the fused graph."""
        names = [self.destinations.target(j) for j in range(len(self.elements))]
        traced = (self.recording.trace.oracle, self.sources, self.recording.graph)
        inputs = (self.positions, len(self.places))
        self.lowering = Lowering(self.device, *traced, self.graph, *inputs, self.options, self.strict, names, self.targets)
        self.executable = self.lowering.executable()
        self.run = (self.executable.linear or self.executable).run
