"""`Storage`: elements with extents and strides in a block of device memory, or of a framework's. `Tensor` adds the methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar, cast

from fusepy.backend.device.device import Device
from fusepy.backend.memory.element import Element
from fusepy.backend.memory.views import View
from fusepy.errors import ArgumentError, did_you_mean
from fusepy.ir.argmap import check_rank
from fusepy.ir.narrowing import DEFAULTS
from fusepy.ir.strides import TensorShape, is_contiguous, new_shape, span, telling
from fusepy.ir.types import Type

Self = TypeVar("Self", bound="Storage")
TENSORS, NUMBERS, ARRAYS = range(3)  # see `Storage.as_numbers`
set_attribute = object.__setattr__  # of a tensor, past the class's own `__setattr__`
ACCUMULATORS = ("sum", "push", "first", "max", "min", "mean")


class Storage:
    """Elements in device memory. ``Storage(device, element, shape)`` allocates new memory unless it gets a `block`.

    Attributes:
        address: address of the first element; `low` is the address of the first byte, `high` that of the end.
        block: the memory; the first element lies `origin` bytes after its start.
        strides: distances between neighbours along each axis, in elements.
        linear: true if the elements are contiguous, also those of the gradients.
        grads: the gradient that is read, and the gradient that is added to.
        key: the tensor's part of a cache key.
        as_numbers: what an eager call returns in place of a result of `lazy`: `TENSORS`, `NUMBERS`, or `ARRAYS` of the host.
    """

    # every call reads `key` and `linear`, so they are computed once; some belong to `LazyTensor`
    __slots__ = ("__weakref__", "_accumulator", "address", "as_numbers", "block", "device", "element", "grads", "high", "key",
                 "linear", "low", "origin", "pending", "shape", "size", "strides", "vectors")  # fmt: skip
    plain: ClassVar[Any]  # the class of views and copies
    of_field: ClassVar[Any]  # the class of fields of structs whose distances cannot be counted in elements
    opened: ClassVar[Any]  # the class of a tensor that is being made: the same one, but attributes can be assigned

    def __init_subclass__(cls) -> None:
        if "opened" not in vars(cls):
            # both slots, or CPython takes the slow way: an assignment would take 0.1 µs in place of 0.01
            members = {"__slots__": (), "__setattr__": set_attribute, "__delattr__": object.__delattr__}
            cls.opened = type(cls.__name__, (cls,), {**members, "opened": None, "__module__": cls.__module__})

    def __init__(
        self,
        data: Any = None,
        element: Any = None,
        extents: Any = None,
        /,
        *rows: Any,
        block: Any = None,
        offset: int = 0,
        strides: tuple[int, ...] | None = None,
        shape: int | Sequence[int] | None = None,
        dtype: Any = None,
        device: Any = None,
        needs_grads: bool = False,
    ):
        if element.__class__ is not Element:  # a call by the user: fusepy itself passes a device, an element and a shape
            self.fill_in([data, element, extents, *rows], shape, dtype, device, needs_grads)
            return
        made = self.__class__
        set_attribute(self, "__class__", made.opened)  # an eighth of the time of as many `set_attribute`
        self.as_numbers = TENSORS
        self.device: Device = data
        self.element: Element = element
        self.shape, self.size, dense, told = new_shape(extents)
        nbytes, rank = self.size * element.nbytes, told if element.scalar else len(extents)
        self.key = data.element_keys.get((element, rank)) or element.key(rank, data)
        self.block = data.pool.allocate(nbytes) if block is None else block
        self.origin = offset
        self.grads: tuple[Any, Any] | None = None
        self.low = self.address = self.block.address + offset
        if strides is None:
            self.strides: TensorShape = dense
            self.linear = True
            self.high = self.address + nbytes
        else:
            self.strides = cast("TensorShape", strides if strides.__class__ is TensorShape else TensorShape(strides))
            self.linear = is_contiguous(extents, strides)
            low, high = span(extents, strides) if self.size else (0, 0)
            self.low, self.high = self.address + low * element.nbytes, self.address + high * element.nbytes
        self.__class__ = made

    @classmethod
    def maker(cls: type[Self], device: Device, element: Element, extents: tuple[int, ...]) -> Callable[[Any], Self]:
        """Returns a function that makes contiguous tensors of a shape on blocks of memory, in a quarter of the usual time."""
        opened, new, (shape, size, strides, told) = cls.opened, object.__new__, new_shape(extents)
        nbytes, rank = size * element.nbytes, told if element.scalar else len(extents)
        key = device.element_keys.get((element, rank)) or element.key(rank, device)

        def make(block: Any) -> Self:
            made = new(opened)
            made.device, made.element, made.key, made.as_numbers, made.grads = device, element, key, TENSORS, None
            made.shape, made.size, made.strides, made.linear, made.block, made.origin = shape, size, strides, True, block, 0
            made.low = made.address = address = block.address
            made.high = address + nbytes
            made.__class__ = cls
            return made

        return make

    def fill_in(self, given: Sequence[Any], shape: Any, dtype: Any, device: Any, needs_grads: bool) -> None:
        """Initialises the tensor from the arguments of ``Tensor(...)``."""
        raise NotImplementedError

    @property
    def dtype(self) -> Type:
        return self.element.type

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def steps(self) -> tuple[int, ...]:
        """The distances between neighbours along each axis, in bytes."""
        return tuple([s * self.element.nbytes for s in self.strides])

    @property
    def spans(self) -> list[tuple[int, int]]:
        """The start and end addresses of its memory and of its gradients' memory."""
        return [(t.low, t.high) for t in (self, *(g for g in self.grads or () if g is not None))]

    @property
    def byte_offset(self) -> int:
        """The byte offset of the first element in `buffer`."""
        return self.block.offset + self.origin

    @property
    def offset(self) -> int:
        """The number of elements between the start of `storage` and the first element."""
        return self.origin // self.element.nbytes

    @property
    def base(self) -> int:
        """The number of elements between the lowest address and the first element; not 0 if an axis runs backwards."""
        return (self.address - self.low) // self.element.nbytes

    @property
    def paired(self) -> bool:
        """True if it has gradients of its shape. An accumulator may have made another one."""
        return self.grads is not None and all([g is None or g.shape == self.shape for g in self.grads])  # noqa: C419  # on calls

    @property
    def accumulator(self) -> str | None:
        """The accumulator of its gradient, such as ``"sum"``; see `Function.accumulate`."""
        return getattr(self, "_accumulator", None)

    @accumulator.setter
    def accumulator(self, kind: str | None) -> None:
        if kind not in (None, *ACCUMULATORS):
            raise ArgumentError(f"there is no accumulator {kind!r}", hint=did_you_mean(str(kind), ACCUMULATORS))
        set_attribute(self, "_accumulator", kind)

    def viewed(self: Self, element: Element, shape: tuple[int, ...], strides: tuple[int, ...], start: int = 0) -> Self:
        """Returns a view of the same memory, `start` bytes further on, without checks and gradients. Internal."""
        made: Self = self.plain(self.device, element, shape, block=self.block, offset=self.origin + start, strides=strides)
        if self.as_numbers and element.scalar:
            made.stand_for(self.as_numbers)
        return made

    def stand_for(self, numbers: int) -> None:
        """Says that an eager call returns other numbers in place of this tensor; see `as_numbers`."""
        set_attribute(self, "as_numbers", numbers)
        if numbers == ARRAYS and self.element.type in DEFAULTS:  # as an array, it is converted where Slang takes less
            set_attribute(self, "key", self.element.key((telling(self.shape), ARRAYS), self.device))

    def seen(self: Self, view: Callable[..., View], argument: Any) -> Self:
        """Returns the view that a function of `views` computes; gradients are viewed in the same way."""
        shape, strides, start = view(self.shape, self.strides, argument)
        check_rank(len(shape), "the view")
        made = self.viewed(self.element, shape, strides, start * self.element.nbytes)
        if self.grads is not None:
            made.attach(*(g.seen(view, argument) if g is not None and g.shape == self.shape else None for g in self.grads))
        return made

    def alike(self: Self, element: Element) -> Self:
        """Allocates a tensor of the same shape for another element type, with arbitrary contents."""
        return cast("Self", self.plain(self.device, element, self.shape))

    def detach(self: Self) -> Self:
        """Returns this tensor without gradients, in the same memory."""
        return self.viewed(self.element, self.shape, self.strides)

    def attach(self, grad_in: Any, grad_out: Any) -> None:
        """Sets the gradients of a new view, without checks. Internal."""
        set_attribute(self, "grads", (grad_in, grad_out))
        set_attribute(self, "as_numbers", TENSORS)  # an array of the host has no gradients
        set_attribute(self, "_accumulator", self.accumulator)  # set, so that reading it asks no `__getattr__`
        plain = telling(self.shape) if self.element.scalar else len(self.shape)
        key = self.element.key(("pair", telling(self.shape)) if self.paired else plain, self.device)
        set_attribute(self, "key", key)
        # one index serves both halves of a pair
        set_attribute(self, "linear", self.linear and all(g is None or g.linear for g in (grad_in, grad_out)))


Storage.plain = Storage


def overlap(a: Any, b: Any) -> bool:
    """True if `a` and `b` are tensors with an element in common. Views of different shapes overlap if their address ranges do.

    Views that alternate along their first axis, such as ``t[::2]`` and ``t[1::2]``, do not overlap.
    """
    met = isinstance(a, Storage) and isinstance(b, Storage) and a.low < b.high and b.low < a.high
    return met and (a.low == b.low or not _alternate(a, b))


def _alternate(a: Storage, b: Storage) -> bool:
    period = a.steps[0] if a.shape and b.shape else 0
    if period <= 0 or b.steps[0] != period:
        return False
    one, other = (t.high - t.low - (t.shape[0] - 1) * period for t in (a, b))  # the bytes that one row spans
    return one <= (b.low - a.low) % period <= period - other
