"""Calls with torch tensors that require gradients: torch's autograd records them, and runs their pullback as a program.

The forward pass is the same call, which torch does not record. The backward pass is a call too. If torch records the backward
pass (``create_graph=True``), it is an `AutogradCall` as well; this gives gradients of gradients.
"""

from __future__ import annotations

import copy
import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from fusepy.arguments.mapped import unmapped
from fusepy.arguments.nested import flat, is_nested, refilled
from fusepy.backend.marshals.registry import kind_of_class
from fusepy.backend.marshals.result_kinds import container_named, is_writable
from fusepy.backend.torch import inside_of_forward_mode, inside_of_vmap, need_torch
from fusepy.derivatives.memory.rereads import first_writer
from fusepy.errors import GradientError
from fusepy.functions.parts import AnyFunction
from fusepy.functions.pullback import captured_again, pullback
from fusepy.location import at_line, line_of, user_place
from fusepy.program.program import ProgramState
from fusepy.pytree import Structure, flatten
from fusepy.trace.recording import Recording
from fusepy.trace.trace import current_trace

Places = Sequence[int]  # of results, or of leaves of the arguments


def is_tracked(value: Any) -> bool:
    """True for a value whose framework records operations on it for gradients."""
    kind = kind_of_class(value.__class__)
    return kind is not None and kind.tracked is not None and kind.tracked(value)


def has_autograd(value: Any) -> bool:
    """True for a value of a framework with autograd."""
    kind = kind_of_class(value.__class__)
    return kind is not None and kind.tracked is not None


def any_tracked(args: Sequence[Any]) -> bool:
    """True if an argument, or a leaf of one, is tracked."""
    return any(is_tracked(unmapped(leaf)) for leaf in flat(args))


class Tracked:
    """Stands for the programs of a key whose arguments are tracked, or whose captured values may be.

    Attributes:
        plain: the program for calls without tracked values; ``None`` if arguments are tracked.
    """

    open, undecided = True, False

    def __init__(self, callee: AnyFunction, recording: Recording, plain: Any = None):
        self.plain, self.nested = plain, plain is not None and plain.nested
        self.device, self.recording = recording.trace.device, recording
        self.sources = list(recording.trace.sources.values())
        self.state = ProgramState()
        self.captures = [value for value in recording.trace.captures if has_autograd(value)]
        if plain is None:
            self._check_outs(callee, recording)

    @staticmethod
    def _check_outs(callee: AnyFunction, recording: Recording) -> None:
        """Raises `GradientError` for a call that writes to an argument."""
        written = [recording.names[o] for o in recording.outs if o is not None]
        if written:
            raise _unrecorded(
                callee, f"argument {written[0]!r} receives a result", "omit it to get the result returned, or pass t.detach()"
            )
        writer = first_writer(recording.graph.nodes, recording.trace.oracle)
        if writer is not None:
            raise _unrecorded(callee, writer, "write in a call of its own, without tensors that require gradients")

    def applies(self) -> bool:
        """True if the call has tracked values."""
        return self.plain is None or any(map(is_tracked, self.captures))

    def apply(self, callee: AnyFunction, args: Sequence[Any], kwargs: Mapping[str, Any], asked: Any) -> Any:
        """Runs a call; `args` end with the values of `kwargs`.

        Raises:
            GradientError: if its results would leave torch's autograd.
        """
        container = asked if asked is not None else callee.config.returns
        if container is not None and not (isinstance(container, (str, type)) and container_named(container) == "torch"):
            where = f"are returned as {container!r}" if isinstance(container, (str, type)) else "are written to _result"
            raise _unrecorded(callee, f"the results {where}", "return them as 'torch', or pass t.detach()")
        call = AutogradCall(callee, args, tuple(kwargs), self.captures)
        results = _function().apply(call, *call.tensors(args), *self.captures)
        return call.structure.fill(results)


class AutogradCall:
    """A call that torch's autograd has recorded. Its tensors are saved by torch, which notices if they change.

    Attributes:
        structure: that of the results.
    """

    structure: Structure

    def __init__(self, callee: AnyFunction, args: Sequence[Any], named: Sequence[str], captures: Sequence[Any]):
        self.callee = callee
        self.named = named
        self.captures = captures
        self.place = user_place()
        leaves = [unmapped(leaf) for leaf in flat(args)]
        self.places = [i for i, leaf in enumerate(leaves) if has_autograd(leaf)]
        self.kept = [None if has_autograd(leaf) else kept(leaf) for leaf in leaves]
        # torch alone holds the tensors, except those in containers, whose items say what they are
        self.args = refill(args, leaves if any(map(is_nested, args)) else [None] * len(leaves))

    def tensors(self, args: Sequence[Any]) -> list[Any]:
        """Returns the tensors among the arguments that torch knows."""
        leaves = flat(args)
        return [unmapped(leaves[i]) for i in self.places]

    def filled(self, tensors: Sequence[Any]) -> list[Any]:
        """Returns the arguments with these tensors."""
        leaves = list(self.kept)
        for i, tensor in zip(self.places, tensors):
            leaves[i] = tensor
        return refill(self.args, leaves)

    def forward(self, tensors: Sequence[Any]) -> list[Any]:
        """Runs the call and returns its results."""
        args = self.filled(tensors)
        first = len(args) - len(self.named)
        results = self.callee._run(tuple(args[:first]), dict(zip(self.named, args[first:])), "torch")  # pyright: ignore[reportPrivateUsage]
        leaves, self.structure = flatten(results)
        return leaves

    def backward(self, tensors: Sequence[Any], gradients: Sequence[Any], needed: Sequence[bool]) -> list[Any]:
        """Returns the gradients of the tensors that need one and have one, and ``None`` for the others."""
        seeds = tuple(j for j, g in enumerate(gradients) if g is not None)
        wanted = tuple(place for place, need in zip(self.places, needed) if need)
        captured = [value for value, need in zip(self.captures, needed[len(self.places) :]) if need]
        if not seeds or not any(needed):
            return [None] * len(tensors)
        with at_line(line_of(self.place)):
            pull = pullback_of(self.callee, len(self.args) - len(self.named), self.named, seeds, wanted, captured, sparse=True)
            found = pull(*self.filled(tensors), *(gradients[j] for j in seeds))
        made = iter(cast("tuple[Any, ...]", found))
        return [next(made) if need else None for need in needed]


def pullback_of(
    callee: AnyFunction, count: int, named: Sequence[str], seeds: Places, wanted: Places, captured: Sequence[Any], sparse: bool
) -> Any:
    """Returns the function that goes back through such calls; functions that differ in their globals share its programs."""
    known, key = callee.programs.pullbacks, (count, named, seeds, wanted, tuple(map(id, captured)), sparse)
    found = known.get(key)
    if found is None:
        made = pullback(callee, count, named, seeds, functools.partial(_chosen, wanted, captured), sparse=sparse)
        found = known[key] = made.variant(None, replace(made.config, returns="torch"))
    return found.variant(callee.setup)


def _chosen(wanted: Places, captured: Sequence[Any], args: Sequence[Any]) -> list[Any]:
    """Returns leaves of traced arguments, and captured values of their trace."""
    leaves, trace = flat(args), current_trace()
    assert trace is not None, "only a trace calls it"
    return [*(leaves[i] for i in wanted), *(captured_again(trace, value) for value in captured)]


def refill(args: Sequence[Any], leaves: Sequence[Any]) -> list[Any]:
    """Returns arguments with other leaves."""
    rest = iter(leaves)
    return [refilled(value, rest) for value in args]


def kept(value: Any) -> Any:
    """Returns an argument that later changes by the user do not affect: a backward pass reads it again."""
    if isinstance(value, (list, tuple)):
        return copy.deepcopy(cast("Any", value))
    copier = getattr(value, "clone" if has_autograd(value) else "copy", None) if is_writable(value) else None
    return value if copier is None else copier()


def _unrecorded(callee: AnyFunction, why: str, hint: str) -> GradientError:
    return GradientError(
        f"{callee.__name__}: a torch tensor requires gradients, and {why}, where autograd cannot follow", hint=hint
    )


@functools.cache
def _function() -> Any:
    """Returns the class of torch's autograd functions that stands for all calls."""
    torch = need_torch()

    class FusepyCall(torch.autograd.Function):
        @staticmethod
        def forward(call: AutogradCall, *tensors: Any) -> Any:
            return tuple(call.forward(tensors))

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            ctx.call = inputs[0]
            ctx.save_for_backward(*inputs[1:])
            ctx.set_materialize_grads(False)

        @staticmethod
        def backward(ctx: Any, *gradients: Any) -> Any:
            return (None, *ctx.call.backward(ctx.saved_tensors, gradients, ctx.needs_input_grad[1:]))

        @staticmethod
        def vmap(*args: Any) -> Any:
            raise inside_of_vmap()

        @staticmethod
        def jvp(ctx: Any, *tangents: Any) -> Any:
            raise inside_of_forward_mode()

    return FusepyCall
