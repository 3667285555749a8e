"""Kinds of Python values: one class as an argument and as a result.

A *marshal* is an object with the methods of one kind, written by us or by users. `register_kind` in `registry` makes a
`ValueKind` of it, which is what the rest of fusepy asks instead of looking at the class of a value. How kernels reach what a
marshal has placed on the device is the matter of an `Access` (`backend.emit.operand`).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from fusepy.errors import ArgumentError
from fusepy.ir.arrivals import Arrival, arrival_named
from fusepy.ir.types import Type
from fusepy.ir.value import Dims

if TYPE_CHECKING:
    from fusepy.backend.device.device import Device
    from fusepy.backend.memory.element import Element
    from fusepy.backend.memory.tensor import Tensor
    from fusepy.backend.memory.texture import TextureKind

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Description:
    """An argument as the tracer sees it; see `ir.graph.Value`. What is `copied` is placed in memory of its own by every call."""

    type: Type
    dims: Dims
    container: str
    weak: bool = False
    origin: object = None  # the module of a struct
    copied: bool = False

    @property
    def arrival(self) -> Arrival:
        """How the argument comes to a kernel."""
        return arrival_named(self.container)


class Marshal(Protocol):
    """The methods that a kind of Python value needs. Register an instance with `register` for each class that it serves.

    What else a kind can do has a default; the names are those in `ValueKind` and `ResultKind`, and in docs/marshals.md.

    Attributes:
        returns: what results become when this kind leads: ``"tensor"``, ``"numpy"``, ``"list"``, ``"scalar"``; or, for a kind
            with `hand_out`, a word of its own.
    """

    returns: str

    def key(self, value: Any) -> Hashable:
        """All of `value` that decides about code: type, element, rank, telling extents. Called on every call, so cheap."""
        ...

    def describe(self, value: Any) -> Description:
        """What the tracer may know; trailing extents of 2 to 4 are told, since they could be consumed by a vector."""
        ...

    def place(self, value: Any, type: Type, device: Device) -> Any:
        """The device form of `value` with elements of `type`: a `Tensor`, a Python number, a `Grid`, or a `Bound` resource.

        Raises:
            FusepyError: if the value cannot be brought to the device.
        """
        ...


class Stream(Protocol):
    """The work of another framework on the GPU, in its own order."""

    def synchronize(self) -> None:
        """Waits until it is done."""
        ...


def _shape(value: Any) -> tuple[int, ...]:
    return np.shape(value)


def _not_direct(value: Any, type: Type) -> bool:
    return False


@dataclass(frozen=True)
class ResultKind:
    """What a call returns: its results as values of one kind.

    Attributes:
        word: its name in ``return_type("numpy")`` and ``_result="numpy"``.
        precedence: among the kinds of the arguments, the lowest one says what a call returns.
        hand_out: makes a value of the kind of a result, which is a tensor.
        make: makes the memory of a result before the call, from device, shape, element and arguments: a value of the kind that
            the kernel writes into. ``None`` from it lets `hand_out` make the value.
        named: whether users can ask for it by its word, or by a class of the kind.
        number: whether one number is returned as a Python number.
        put_off: whether `lazy` may return tensors in its place.
    """

    word: str
    precedence: int
    hand_out: Callable[[Tensor], Any]
    make: Callable[[Device, tuple[int, ...], Element, Sequence[Any]], Any] | None = None
    named: bool = True
    number: bool = False
    put_off: bool = False


@dataclass(frozen=True)
class ValueKind:
    """One kind of Python value, as an argument and as a result.

    Attributes:
        marshal: whose methods these are.
        returns: what results become when this kind leads.
        named: whether its class is a name for `returns`.
        extents: extents along the batch axes.
        memory: for values that results can be written to: the tensor or array that is their memory, as elements of a type.
        array: for kinds that lie on the host: the numbers as an array, without a copy; ``None`` for a value that lies elsewhere.
        device: for values that lie on a device: that device.
        texture: for textures, into which results can go as well: what of one decides about code.
        stream: where another framework works on the value in an order of its own: that work, which a call waits for, and which
            in turn finds the call done.
        direct: whether the value itself is what kernels take, so that `place` need not run on every call.
    """

    marshal: Marshal
    returns: ResultKind
    named: bool
    key: Callable[[Any], Hashable]
    describe: Callable[[Any], Description]
    place: Callable[[Any, Type, Device], Any]
    extents: Callable[[Any], tuple[int, ...]] = _shape
    memory: Callable[[Any, Device, Element], Tensor | Array] | None = None
    array: Callable[[Any], Array | None] | None = None
    device: Callable[[Any], Device] | None = None
    texture: Callable[[Any], TextureKind] | None = None
    stream: Callable[[Any], Stream | None] | None = None
    direct: Callable[[Any, Type], bool] = _not_direct


_OF_RESULTS = ("precedence", "make", "named", "number", "put_off")
_OF_VALUES = ("extents", "memory", "array", "device", "texture", "stream", "direct")


def kind_of_marshal(marshal: Marshal, results: dict[str, ResultKind], taken: Container[str] = ()) -> ValueKind:
    """The kind that a marshal describes; where that has results of its own, these are added to `results`.

    Args:
        taken: words of results that it cannot have for its own.

    Raises:
        ArgumentError: for what is no marshal.
    """
    missing = [m for m in ("key", "describe", "place") if not callable(getattr(marshal, m, None))]
    word: Any = getattr(marshal, "returns", None)
    hand_out = getattr(marshal, "hand_out", None)
    if missing or not isinstance(word, str) or (word not in results if hand_out is None else word in taken):
        why = "there is no hand_out()" if hand_out is None else "hand_out() is that of another kind"
        raise ArgumentError(
            f"a {marshal.__class__.__name__} is no marshal: "
            + (f"it has no {missing[0]}()" if missing else f"returns is {word!r}, and {why}"),
            expected=f"the methods of fusepy.Marshal, and returns as one of {', '.join(results)}",
            hint="see docs/marshals.md, and test it with fusepy.testing.check_marshal",
        )
    if hand_out is not None:
        given: dict[str, Any] = {"precedence": 0, **_given(marshal, _OF_RESULTS)}  # of users' kinds: before all of ours
        results[word] = ResultKind(word, hand_out=hand_out, **given)
    return ValueKind(
        marshal,
        results[word],
        hand_out is not None and results[word].named,
        marshal.key,
        marshal.describe,
        marshal.place,
        **_given(marshal, _OF_VALUES),
    )


def _given(marshal: Marshal, names: Sequence[str]) -> dict[str, Any]:
    """What a marshal has of these."""
    return {name: getattr(marshal, name) for name in names if getattr(marshal, name, None) is not None}
