"""`Program`: a compiled call, which places arguments, runs the launches and returns results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from fusepy.arguments.mapped import unmapped
from fusepy.backend.cuda.driver import NULL_STREAM
from fusepy.backend.device.recorder import Written
from fusepy.backend.device.sink import CAPTURED, Sink, sink_on
from fusepy.backend.emit.options import Options
from fusepy.backend.execute.readback import Readback
from fusepy.backend.execute.tape import Tape
from fusepy.backend.kernels.globals import Bindings
from fusepy.backend.marshals.base import CurrentStream
from fusepy.backend.marshals.result_kinds import check_recordable, destination
from fusepy.backend.memory.element import Element
from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.slang.oracle import SlangOracle
from fusepy.backend.sources.source import ModuleSource
from fusepy.ir.graph import Graph
from fusepy.passes.pipeline import REWRITES, run_pipeline
from fusepy.program.delivery import PYTHONS, Delivery, laid_out
from fusepy.program.lent import lent_call
from fusepy.program.lowering import Lowering
from fusepy.program.state import ProgramState, TextureStore
from fusepy.pytree import LEAF
from fusepy.trace.prints.log import too_early


@dataclass(frozen=True, eq=False, kw_only=True)
class Program(Delivery):
    """A compiled call, made by `compile_program`.

    Attributes:
        open: True if only a destination can give the size of the grid. Such a program is not run.
        undecided: True if neither a module nor an argument says on which device it runs: a destination may.
        follows: returns the CUDA stream of another framework on which the call runs.
        nested: True if an argument is nested.
        ready: True if the arguments are passed as they are, without a check.
        readback: returns one result without axes as a Python number; ``None`` for other results.
        simple, several: True for one result by itself, and for results in a container, if they need nothing of `deliver`.
        filled: the arguments that all results are written to, if nothing is returned.
        textured: runs a call that stores the only result into a texture; ``None`` for other results.
        convert: makes what the caller gets of a result of these two kinds; ``None`` if that is the tensor.
        element: the element of the first result.
        narrow: the container in whose memory numbers among the results have 32 bits; ``None`` if they have no others.
    """

    options: Options
    lowering: Lowering
    open: bool
    follows: CurrentStream | None = None
    undecided: bool = field(init=False)
    nested: bool = field(init=False)
    ready: bool = field(init=False)
    readback: Readback | None = field(init=False)
    simple: bool = field(init=False)
    several: bool = field(init=False)
    filled: Sequence[int] = field(init=False)
    textured: TextureStore | None = field(init=False)
    convert: Callable[[Any], Any] | None = field(init=False)
    element: Element | None = field(init=False)
    narrow: str | None = field(init=False)
    state: ProgramState = field(default_factory=ProgramState)

    def __post_init__(self) -> None:
        written, kind = self.destinations, self.result_kind
        one = (
            plain := not (self.detours or written.outs or self.recording.prints or self.apart)
        ) and self.recording.structure is LEAF
        number = one and kind.number and not self.graph.outputs[0].rank and Readback.takes(written.elements[0])
        wanted = (apart := bool(written.said) or self.waits or kind.make is not None) or written.targets
        several = plain and not (one or wanted or self.recording.grads)
        kept = not self.recording.keep or any(self.recording.keep) or None in written.outs
        odd = kept or self.detours or self.recording.prints or self.apart or self.recording.grads or self.inputs.moved or wanted
        facts: dict[str, Any] = {
            "run": (self.executable.linear or self.executable).run,
            "undecided": self.recording.trace.undecided,
            "nested": self.recording.nested,
            "ready": self.inputs.ready,
            "readback": Readback(self.device, written.elements[0]) if number else None,
            "simple": one and bool(self.graph.nodes) and not (number or wanted),
            "several": several and bool(self.graph.nodes) and self.recording.structure.leaves == len(written.elements),
            "filled": () if odd else written.outs,
            "textured": TextureStore(self) if one and written.targets and not (number or apart or self.inputs.moved) else None,
            "convert": None if self.returns == "tensor" else kind.hand_out,
            "element": written.elements[0] if written.elements else None,
            "narrow": "tensor" if self.returns in PYTHONS else self.returns if self.apart else None,
        }
        for name, value in facts.items():  # attributes and no cached properties, which make each read four times slower
            object.__setattr__(self, name, value)

    @property
    def writes(self) -> bool:
        """True if it writes to arguments."""
        return self.acts or bool(self.destinations.outs)

    @property
    def sources(self) -> Sequence[ModuleSource]:
        """The sources of the modules that are called."""
        return self.lowering.sources

    def __call__(
        self, args: Sequence[Any], result: Any = None, sink: Sink | None = None, bindings: Bindings | None = None
    ) -> Any:
        """Runs the program on the arguments of its inputs.

        Args:
            sink: the destination of its launches; None is the queue of its device, or the capture.
            bindings: the values of globals.

        Raises:
            ArgumentError: if the user submits the work later, and a result would have to be read back.
        """
        device = self.device
        if device.lost is not None:
            device.check()
        if sink is None:
            sink = device.queue if CAPTURED.get() is None else sink_on(device, self, args)
            if self.follows is not None:
                return self._on_stream(self.follows, args, result, sink, bindings)
        elif sink.keeps:
            return self._record(args, result, sink, bindings)
        placed = args if self.ready else self.inputs.placed(args)
        if self.simple:
            if result is None:
                made = self.run(placed, None, sink, bindings)[0]
                return made if self.convert is None else self.convert(made)
            if result.__class__ is Tensor and result.element is self.element and not self.inputs.moved:
                self.run(placed, (result,), sink, bindings)
                return result
        elif self.several and (result is None or (not self.inputs.moved and self.destinations.are_memory(result))):
            made = self.run(placed, result, sink, bindings)
            return self.recording.structure.fill(result or (made if self.convert is None else map(self.convert, made)))
        elif self.readback is not None and result is None:
            return self.readback(self.run, placed, sink, bindings)
        elif self.filled and result is None and self.destinations.are_memory(given := tuple([args[o] for o in self.filled])):
            self.run(placed, given, sink, bindings)
            return self.recording.structure.fill(())
        elif self.textured is not None and (made := self.textured(placed, result, sink, bindings)) is not None:
            return made
        return self.deliver(args, placed, result, sink, bindings)

    def tape(self, args: Sequence[Any]) -> Tape:
        """Returns the tape for arguments like these, without destinations; arrays count as contiguous tensors.

        Raises:
            ShapeError: if they do not fit together.
        """
        return self.executable.lower([laid_out(v) for v in self.inputs.values(args)])

    def resolved(self) -> Graph:
        """Returns the graph before it is fused."""
        return run_pipeline(self.recording.graph, self.oracle, REWRITES)

    @property
    def oracle(self) -> SlangOracle:
        """The answers of Slang about the modules that are called."""
        return self.recording.trace.oracle

    @property
    def global_names(self) -> list[str]:
        """The globals of all modules that are called."""
        return [name for alias, _ in self.recording.graph.modules for name in self.oracle.globals(alias)]

    def _record(self, args: Sequence[Any], result: Any, sink: Sink, bindings: Bindings | None) -> Any:
        """Runs the program into a sink that the user submits later, and that keeps alive the memory that the work uses."""
        check_recordable(self.graph.name, [unmapped(args[o]) for o in self.recording.outs if o is not None], result)
        if self.follows is not None:  # the user submits to the null stream, behind the earlier work of the framework
            self.device.queue.follow(self.follows())
            self.device.queue.follow(NULL_STREAM)
        if self.recording.prints and not sink.captures:
            raise too_early(self.graph.name, self.recording.prints[0])
        placed = self.inputs.placed(args)
        handed = self.deliver(args, placed, result, sink, bindings)
        sink.keep(Written(placed) if self.acts else placed, handed, result)
        return handed

    def _on_stream(self, stream: CurrentStream, args: Sequence[Any], result: Any, sink: Sink, bindings: Bindings | None) -> Any:
        """Runs the program on the current stream of the framework of its arguments. Nobody waits."""
        with self.device.lock:  # another thread must not change the stream
            queue = self.device.queue
            queue.follow(stream())
            state = self.state
            if state.lent is not None and (made := state.lent(args, result, sink, bindings)) is not None:
                queue.rejoin()
                return made
            placed = self.inputs.placed(args)  # alive until all is submitted
            if self.readback is not None and result is None:
                returned = self.readback(self.run, placed, sink, bindings)
            elif self.simple and result is None:
                made = self.run(placed, None, sink, bindings, self.maker)[0]
                returned = made if self.convert is None else self.convert(made)
            elif self.simple and not self.inputs.moved and (target := self._lent(result)) is not None:
                self.run(placed, (target,), sink, bindings)
                returned = result
            else:
                returned = self.deliver(args, placed, result, sink, bindings)
            if not state.asked:
                state.asked, state.lent = True, lent_call(self, args)
            queue.rejoin()
            return returned

    def _lent(self, result: Any) -> Any:
        """Returns the memory of a destination if the only result can be written there as it is; raises as `deliver` does."""
        if isinstance(result, (list, tuple)):
            return None
        memory = destination(result, self.device, self.destinations.named(0), self.destinations.elements[0])
        return memory if getattr(memory, "element", None) is self.element else None
