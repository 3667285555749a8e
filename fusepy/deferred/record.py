"""`lazy`: records calls instead of running them, until a result is needed."""

from __future__ import annotations

import weakref
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, cast

import numpy as np

from fusepy.arguments.mapped import Mapped, unmapped
from fusepy.arguments.nested import flat
from fusepy.backend.device.block import Block, BlockPart
from fusepy.backend.device.device import Device
from fusepy.backend.marshals.constant import Components
from fusepy.backend.marshals.generators import COMPUTED
from fusepy.backend.memory.pending import PENDING, RECORDER, waiting
from fusepy.backend.memory.storage import ARRAYS, TENSORS
from fusepy.backend.memory.tensor import Tensor
from fusepy.deferred.calls import Call, Group, LazyTensor, Output, joined
from fusepy.deferred.forecast import Recordable, Result, as_plain, stands_for
from fusepy.deferred.join import run
from fusepy.ir.strides import TensorShape
from fusepy.location import user_place
from fusepy.program.delivery import shape_of
from fusepy.program.placement import warn_narrowed
from fusepy.program.program import Program
from fusepy.pytree import LEAF


class Putting(Protocol):
    """A callable whose calls can be deferred."""

    config: Any
    setup: Any

    def _run(self, args: tuple[Any, ...], kwargs: Mapping[str, Any], result: Any) -> Any: ...


CALLS = 64  # beyond this number of recorded calls, the oldest and its group run first
_UNSAID = (None, "tensor")  # values of `return_type` with which calls are recorded
_OWN = (Block, BlockPart)
LENGTH = 256  # operations between an argument and a result; beyond this number, the result is computed before it is used


@contextmanager
def lazy() -> Generator[None, None, None]:
    """Records calls of Slang functions, fused functions, math functions and reductions inside the block, instead of running them.

    They return tensors, also for NumPy arrays, that are computed when they are needed: read, printed, or passed to a call
    outside of the block. Then all connected calls with a result that the program still holds run as one fused program. Calls
    of numbers and lists alone, calls with effects, and calls of functions with globals or hooks, run at once. Leaving the block
    runs nothing.

    Names, types, extents and ranges are checked when a call is recorded, so errors name its line.

    Example:
        >>> import fusepy as fp
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_lazy", "float twice(float x) { return 2 * x; }")
        >>> with fp.lazy():
        ...     y = fp.sqrt(m.twice(fp.Tensor([2.0, 8.0])))
        >>> y.shape, y.to_numpy().tolist()
        ((2,), [2.0, 4.0])
    """
    token = RECORDER.set(_record)
    try:
        yield
    finally:
        RECORDER.reset(token)


def _record(caller: Putting, program: Program, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> Any:
    """Records a call, or runs it if it cannot be deferred. `args` end with the values of `kwargs`."""
    known: Recordable | None = program.state.recordable
    if known is None:
        known = program.state.recordable = Recordable.of(program, flat(args))
    unsaid = result is None and caller.config.returns in _UNSAID
    if known.fits and unsaid and caller.setup is None:
        with program.device.lock:
            made = _called(program, known, args)
        if made is not None:
            return made
    plain = stands_for(known, flat(args)) if unsaid else TENSORS
    made = _now(caller, args, kwargs, known.container if unsaid else result)
    return as_plain(made, plain) if plain else made


def _now(caller: Putting, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> Any:
    """Runs a call that cannot be deferred."""
    token = RECORDER.set(None)
    try:
        leaves = flat(args)
        _compute(leaves, range(len(leaves)))
        return caller._run(tuple(args[: len(args) - len(kwargs)]), kwargs, result)  # pyright: ignore[reportPrivateUsage]
    finally:
        RECORDER.reset(token)


def _called(program: Program, known: Recordable, args: Sequence[Any]) -> Any:
    """Records the call and returns its results; ``None`` if an argument must be read now."""
    if len(PENDING) >= CALLS:
        _make_room(program.device)
    given: Sequence[Any] = flat(args) if program.nested else args
    own = len(given)
    if program.inputs.captures:
        given = [*given, *program.inputs.captures]
    ahead: list[int] = []
    plain: int | None = None  # as `stands_for`, without calls
    for place, leaf in enumerate(given):
        inner = leaf.value if leaf.__class__ is Mapped else leaf
        if inner.__class__ is LazyTensor:
            plain = inner.as_numbers if plain is None or inner.as_numbers < plain else plain
            if place in known.in_memory if inner.vectors is None else known.grouped.get(place) is not inner.vectors:
                ahead.append(place)
        elif inner.__class__ is Tensor and place < own:
            plain = inner.as_numbers if plain is None or inner.as_numbers < plain else plain
    if ahead:  # first, since computing one pending argument may compute others
        _compute(given, ahead)
    leaves: list[Any] = []
    shapes: list[tuple[int, ...]] = []
    length = 0
    group: Group | None = None
    for leaf in given:
        cls = leaf.__class__
        if cls is Mapped:
            leaf = leaf.value
            cls = leaf.__class__
        if cls is LazyTensor:
            output: Output = leaf.pending
            call = output[0]
            if call.over:  # it cannot run
                call.run()
            if call.length > length:
                length = call.length
            group = call.group if group is None or group is call.group else joined(group, call.group)
            leaves.append(output)
            shapes.append(leaf.shape)
        elif cls is float or cls is int:
            leaves.append(leaf)
            shapes.append(())
        elif cls is Tensor:
            if leaf.block.__class__ not in _OWN:  # memory of another framework may change at any time
                return None
            leaves.append(leaf)
            shapes.append(leaf.shape)
        else:
            kept = _kept(program, len(leaves), leaf)
            if kept is None:
                return None
            leaves.append(kept)
            shapes.append(shape_of(kept))
    if length > LENGTH:
        _compute(given, range(len(given)))
        return _called(program, known, args)
    if known.numbers:
        known.check_numbers(leaves)
    if shapes != known.shapes:
        known.follow(shapes)
    if program.inputs.narrows:
        warn_narrowed(program.inputs.narrows)
    call = Call(program, leaves, user_place(4), length + known.length, group or Group(), run)
    plain = TENSORS if known.spread else known.plain if plain is None else plain
    return _results(program, call, known.results, known.numbers_of, plain)


def _make_room(device: Device) -> None:
    """Runs the oldest recorded call of a device."""
    oldest = next((call for call in waiting() if call.program.device is device), None)
    if oldest is not None:
        oldest.settle()


def _compute(given: Sequence[Any], places: Iterable[int]) -> None:
    """Computes the lazy tensors among some of the arguments."""
    for place in places:
        inner = unmapped(given[place])
        if inner.__class__ is LazyTensor:
            inner.compute()


def _kept(program: Program, position: int, value: Any) -> Any:
    """Returns an argument that later changes by the user do not affect; ``None`` if that is impossible."""
    cls = value.__class__
    if cls is np.ndarray:
        place = program.inputs.places[position]
        assert place is not None
        placed = place(value)  # raises for a wrong array
        return value.copy() if isinstance(placed, Components) else placed
    if cls is list or cls is tuple:
        return _copied(value)
    return cast("Any", value) if isinstance(value, (bool, np.generic, *COMPUTED)) else None


def _copied(value: Any) -> Any:
    """Returns a deep copy of a list of numbers or lists."""
    return [_copied(v) if isinstance(v, (list, tuple)) else v for v in cast("Sequence[Any]", value)]


def _results(program: Program, call: Call, results: Sequence[Result], numbers: Sequence[Result], plain: int) -> Any:
    """Makes lazy tensors for the results of a call, in its structure; they stand for `numbers` unless `plain` is `TENSORS`."""
    made: list[Any] = []
    for result, shown in zip(results, numbers if plain else results):
        tensor: LazyTensor = LazyTensor.opened.__new__(LazyTensor.opened)
        tensor.device = program.device
        tensor.element, shape, tensor.size, tensor.key = shown
        tensor.shape = TensorShape(shape)
        tensor.grads = None
        tensor.as_numbers = plain
        if plain == ARRAYS:
            tensor.stand_for(plain)
        tensor.vectors = None if shown is result else result.element.type
        tensor.pending = (call, len(made))
        tensor.__class__ = LazyTensor
        call.results.append(weakref.ref(tensor))
        made.append(tensor)
    structure = program.recording.structure
    return made[0] if structure is LEAF else structure.fill(made)
