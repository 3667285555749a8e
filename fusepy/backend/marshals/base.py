"""Kinds of Python values: one class as an argument and as a result.

A *marshal* is an object with the methods of one kind, written by fusepy or by users. `register_kind` in `registry` makes a
`ValueKind` of it. The rest of fusepy uses the `ValueKind` instead of the class of a value. An `Access` (`backend.emit.operand`)
gives kernels access to the value on the device.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fusepy.backend.device.device import Device
from fusepy.backend.memory.element import Element
from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.memory.texture import TextureKind
from fusepy.errors import ArgumentError
from fusepy.ir.arrivals import Arrival, arrival_named
from fusepy.ir.types import Type
from fusepy.ir.value import Dims

Array = np.ndarray[Any, np.dtype[Any]]
Maker = Callable[["Element", tuple[int, ...]], "Tensor"]  # makes memory for a result
CurrentStream = Callable[[], int]  # the handle of a framework's current CUDA stream


@dataclass(frozen=True)
class Description:
    """An argument for the tracer; see `ir.graph.Value`. A `copied` value is copied to new memory by every call."""

    type: Type
    dims: Dims
    container: str
    weak: bool = False
    origin: object = None  # the module of a struct
    copied: bool = False

    @property
    def arrival(self) -> Arrival:
        """The way that the argument is passed to a kernel."""
        return arrival_named(self.container)


class Marshal(Protocol):
    """The methods that a kind of Python value needs. Register an instance with `register` for each class that it supports.

    Further methods and attributes are optional. Their names are those in `ValueKind` and `ResultKind`; see docs/marshals.md.

    Attributes:
        returns: the kind of results if this kind has the lowest precedence: ``"tensor"``, ``"numpy"``, ``"list"``,
            ``"scalar"``; or, for a kind with `hand_out`, its own word.
    """

    returns: str

    def key(self, value: Any) -> Hashable:
        """Returns the part of `value` that decides about code: type, element, rank, small extents.

        It runs on every call, and must be cheap.
        """
        ...

    def describe(self, value: Any) -> Description:
        """Returns the static properties of `value`. Trailing extents of 2 to 4 are static, since they may form a vector."""
        ...

    def place(self, value: Any, type: Type, device: Device) -> Any:
        """Returns `value` on the device, with elements of `type`: a `Tensor`, a Python number, a `Grid`, or a `Bound` resource.

        Raises:
            FusepyError: if the value cannot be uploaded.
        """
        ...


class Stream(Protocol):
    """A stream of GPU work of another framework."""

    def synchronize(self) -> None:
        """Waits until the work is done."""
        ...


def _shape(value: Any) -> tuple[int, ...]:
    return np.shape(value)


def _not_direct(value: Any, type: Type) -> bool:
    return False


@dataclass(frozen=True)
class ResultKind:
    """A kind of results that a call returns.

    Attributes:
        word: its name in ``return_type("numpy")`` and ``_result="numpy"``.
        precedence: a call returns the kind of its arguments with the lowest precedence.
        hand_out: converts a result from a tensor to a value of the kind.
        make: creates a result's value before the call, from device, shape, element and arguments; the kernel writes into it.
            If it returns ``None``, `hand_out` creates the value.
        maker: returns for a device and arguments like these what makes the memory of results, on a CUDA stream of the kind's
            framework; `hand_out` gets these tensors. ``None`` if results are in fusepy's own memory.
        named: users can name it by its word, or by a class of the kind.
        number: a single number is returned as a Python number.
        put_off: `lazy` may return tensors instead; calls that return another kind run at once.
    """

    word: str
    precedence: int
    hand_out: Callable[[Tensor], Any]
    make: Callable[[Device, tuple[int, ...], Element, Sequence[Any]], Any] | None = None
    maker: Callable[[Device, Sequence[Any]], Maker | None] | None = None
    named: bool = True
    number: bool = False
    put_off: bool = False


@dataclass(frozen=True)
class ValueKind:
    """One kind of Python value, as an argument and as a result.

    Attributes:
        marshal: the marshal with these methods.
        returns: the kind of results if this kind has the lowest precedence.
        named: its class is a name for `returns`.
        extents: extents along the batch axes.
        memory: for values that receive results: their memory as a tensor or array, with elements of a type.
        array: for kinds in host memory: the numbers as an array, without a copy; ``None`` for a value in other memory.
        device: for values on a device: that device; ``None`` if it is not open, or not fusepy's.
        texture: for textures, which can receive results too: the part of one that decides about code.
        stream: for values of another framework: its stream of GPU work. A call waits for it, and later work of the stream sees
            the results of the call.
        follows: for values of a framework with CUDA streams: what returns its current stream; ``None`` for a value elsewhere. The
            call runs on that stream and waits for nothing.
        tracked: for values of a framework with autograd: true if it records operations on the value.
        gradients: for values that carry gradients: the one that calls read, and the one that they add to; ``None`` without any.
        direct: kernels take the value itself, so that `place` need not run on every call.
        placer: returns a function that places values of the same key once `place` took one; None leaves it to `place`.
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
    device: Callable[[Any], Device | None] | None = None
    texture: Callable[[Any], TextureKind] | None = None
    stream: Callable[[Any], Stream | None] | None = None
    follows: Callable[[Any], CurrentStream | None] | None = None
    tracked: Callable[[Any], bool] | None = None
    gradients: Callable[[Any], tuple[Any, Any] | None] | None = None
    direct: Callable[[Any, Type], bool] = _not_direct
    placer: Callable[[Any, Device], Callable[[Any], Any] | None] | None = None


_OF_RESULTS = ("precedence", "make", "maker", "named", "number", "put_off")
INSTEAD = "_instead"  # the attribute of a class that has no kind, and no fields either: the hint that says what to pass
_OF_VALUES = ("extents", "memory", "array", "device", "texture", "stream", "follows", "tracked", "gradients", "direct", "placer")


def kind_of_marshal(marshal: Marshal, results: dict[str, ResultKind], taken: Container[str] = ()) -> ValueKind:
    """Returns the kind of a marshal. If the marshal has its own kind of results, it is added to `results`.

    Args:
        taken: reserved words of results.

    Raises:
        ArgumentError: if `marshal` is not a marshal.
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
        given: dict[str, Any] = {"precedence": 0, **_given(marshal, _OF_RESULTS)}  # users' kinds come before fusepy's
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
    """Returns the attributes of these names that a marshal has."""
    return {name: getattr(marshal, name) for name in names if getattr(marshal, name, None) is not None}
