"""`Tensor`: an n-dimensional array of Slang values in device memory."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from fusepy.element import Element, element_of, scalar_type
from fusepy.errors import RangeError, ShapeError, UnsupportedArgumentError
from fusepy.ir.strides import contiguous_strides, is_contiguous, span, telling
from fusepy.ir.types import FLOAT, INT, Kind, Type

if TYPE_CHECKING:
    from fusepy.backend.block import Block
    from fusepy.backend.runtime import Device

Array = np.ndarray[Any, np.dtype[Any]]


class Tensor:
    """An array of Slang scalars, vectors, matrices or structs on a device.

    Attributes:
        shape: extents, slowest first, without the components of an element.
        dtype: the Slang type of one element, e.g. ``float3``.
        strides: distances between neighbours along each axis, in elements; 0 repeats, negative runs backwards.
        device: where it lies.

    Slicing with integers and slices makes views that share memory.

    Example:
        >>> import fusepy as fp
        >>> t = Tensor.from_numpy(fp.default_device(), np.arange(6, dtype=np.float32).reshape(2, 3))
        >>> t.shape, str(t.dtype)
        ((2, 3), 'float')
        >>> t[1, ::2].to_numpy()
        array([3., 5.], dtype=float32)
    """

    # `key` and `linear` are read on every call, so they are made once
    __slots__ = ("_block", "_origin", "address", "device", "element", "high", "key", "linear", "low", "shape", "size", "strides")

    def __init__(
        self,
        device: Device,
        element: Element,
        shape: tuple[int, ...],
        *,
        block: Block | None = None,
        offset: int = 0,
        strides: tuple[int, ...] | None = None,
    ):
        self.device = device
        self.element = element
        self.shape = shape
        self.size = math.prod(shape)
        self._block = device.pool.allocate(self.size * element.nbytes) if block is None else block
        self._origin = offset
        self.address = self._block.address + offset
        # a trailing extent of 2 to 4 can change what Slang is offered, and so the program; other sizes never do
        self.key = element.key(telling(shape) if element.scalar else len(shape), device)
        if strides is None:
            self.strides = contiguous_strides(shape)
            self.linear = True
            self.low = self.address  # device addresses of its first byte and of the one behind its last
            self.high = self.address + self.size * element.nbytes
        else:
            self.strides = strides
            self.linear = is_contiguous(shape, strides)
            low, high = span(shape, strides) if self.size else (0, 0)
            self.low = self.address + low * element.nbytes
            self.high = self.address + high * element.nbytes

    # ---- making -------------------------------------------------------------------------------------------------

    @staticmethod
    def empty(device: Any, shape: int | Sequence[int], dtype: Any = FLOAT) -> Tensor:
        """A tensor with arbitrary contents.

        Raises:
            ShapeError: for negative extents.
            OutOfDeviceMemory: if the device cannot hold it.
        """
        return Tensor(_device(device), element_of(dtype), _shape(shape))

    @staticmethod
    def zeros(device: Any, shape: int | Sequence[int], dtype: Any = FLOAT) -> Tensor:
        """A tensor of zeros."""
        return Tensor.empty(device, shape, dtype)._filled(0)

    @staticmethod
    def full(device: Any, shape: int | Sequence[int], value: Any, dtype: Any = FLOAT) -> Tensor:
        """A tensor with `value` in every element; a sequence gives one number per component."""
        return Tensor.empty(device, shape, dtype)._filled(value)

    @staticmethod
    def arange(device: Any, stop: int, dtype: Any = INT) -> Tensor:
        """``0, 1, …, stop - 1``."""
        element = element_of(dtype)
        return Tensor.from_numpy(device, np.arange(stop, dtype=element.dtype), dtype)

    @staticmethod
    def from_numpy(device: Any, array: Array, dtype: Any = None) -> Tensor:
        """A copy of a NumPy array.

        Args:
            array: any shape, strides and byte order that is native.
            dtype: the Slang type of an element; by default the scalar of the array's dtype. A vector or matrix takes the
                trailing axes: ``(100, 3)`` floats as ``float3`` make a tensor of shape ``(100,)``. A struct takes a structured
                array.

        Raises:
            UnsupportedArgumentError: for a dtype that Slang does not have.
            ShapeError: if the trailing axes do not fill `dtype`.
        """
        array = np.asarray(array)
        element = element_of(scalar_type(array.dtype) if dtype is None else dtype)
        cut = len(element.shape)
        if cut and array.shape[-cut:] != element.shape:
            raise ShapeError(
                f"an array of shape {array.shape} does not hold {element.type}",
                saw=array.shape,
                expected=f"trailing axes {element.shape}",
                hint="reshape the array so that its last axes are the components",
            )
        made = Tensor(_device(device), element, array.shape[: array.ndim - cut])
        made.copy_from_numpy(array)
        return made

    # ---- contents -----------------------------------------------------------------------------------------------

    def to_numpy(self) -> Array:
        """A copy of the contents: shape of the tensor, then the components of an element."""
        element = self.element
        self.device.check()
        low, high = span(self.shape, self.strides)
        if self.size == 0:
            return np.empty(self.shape + element.shape, element.dtype)
        data = self.device.transfer.download(
            self._block.buffer, self._position + low * element.nbytes, (high - low) * element.nbytes
        )
        flat = np.frombuffer(data, element.stored).reshape((high - low, *element.shape))
        steps = tuple(s * element.nbytes for s in self.strides) + flat.strides[1:]
        view: Array = np.lib.stride_tricks.as_strided(flat[-low:], self.shape + element.shape, steps)
        if element.stored != element.dtype:
            return view != 0
        return view if self.linear else np.copy(view)

    def copy_from_numpy(self, array: Array) -> None:
        """Overwrites the contents.

        Raises:
            ShapeError: unless the array has the tensor's shape with the components behind it.
            UnsupportedArgumentError: for another dtype; conversions are never silent.
        """
        self.device.check()
        element = self.element
        array = np.asarray(array)
        if array.shape != self.shape + element.shape:
            raise ShapeError("copy_from_numpy", saw=array.shape, expected=self.shape + element.shape, hint="reshape the array")
        if array.dtype != element.dtype:
            if array.dtype.names is None or array.dtype.names != element.dtype.names:
                raise UnsupportedArgumentError(
                    f"an array of {array.dtype} cannot be copied into a tensor of {element.type}",
                    saw=array.dtype,
                    expected=element.dtype,
                    hint=f"convert it with .astype(np.{element.dtype})"
                    if element.dtype.names is None
                    else "use the dtype of the struct",
                )
            array = array.astype(element.dtype)
        if self.linear:
            self.device.transfer.upload(
                self._block.buffer, self._position, np.ascontiguousarray(array).astype(element.stored, copy=False)
            )
        elif self.size:
            raise ShapeError(
                "copy_from_numpy needs a contiguous tensor", saw=f"strides {self.strides}", hint="copy into the whole tensor"
            )

    def _filled(self, value: Any) -> Tensor:
        element = self.element
        if element.dtype.kind in "iu" and isinstance(value, (int, float)):
            info = np.iinfo(element.dtype)
            if not info.min <= value <= info.max:
                raise RangeError(
                    f"{value} does not fit {element.type}", saw=value, expected=f"{info.min} to {info.max}", hint="widen dtype"
                )
        if self.size:
            self.copy_from_numpy(np.full(self.shape + element.shape, value, element.dtype))
        return self

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        found = self.to_numpy()
        return found if dtype is None else found.astype(dtype)

    # ---- shape --------------------------------------------------------------------------------------------------

    @property
    def dtype(self) -> Type:
        return self.element.type

    @property
    def ndim(self) -> int:
        return len(self.shape)

    def __len__(self) -> int:
        if not self.shape:
            raise ShapeError("a 0-d tensor has no length", hint="read it with .to_numpy()")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Tensor:
        return view(self, index)

    def reshape(self, *shape: int | Sequence[int]) -> Tensor:
        """A view of a contiguous tensor with other extents; one may be -1.

        Raises:
            ShapeError: if the sizes differ or the tensor is not contiguous.
        """
        given: Any = shape[0] if len(shape) == 1 else shape
        wanted: tuple[int, ...] = (given,) if isinstance(given, int) else tuple(given)
        known = math.prod(n for n in wanted if n != -1)
        if -1 in wanted:
            wanted = tuple(self.size // max(known, 1) if n == -1 else n for n in wanted)
        if math.prod(wanted) != self.size or not self.linear:
            raise ShapeError(
                f"cannot reshape {self.shape}", saw=wanted, expected=f"{self.size} elements, contiguous", hint="copy it first"
            )
        return Tensor(self.device, self.element, wanted, block=self._block, offset=self._origin)

    def viewed(self, element: Element, shape: tuple[int, ...], strides: tuple[int, ...]) -> Tensor:
        """The same memory as elements of another kind, with strides counted in these; the caller has checked that they fit."""
        return Tensor(self.device, element, shape, block=self._block, offset=self._origin, strides=strides)

    @property
    def buffer(self) -> Any:
        """The sgl buffer that holds the memory, and with `offset` the raw way in; turns deferred submission off."""
        self.device.queue.share()
        return self._block.buffer

    @property
    def memory(self) -> Any:
        """The sgl buffer that holds the memory, for what goes through fusepy's queue."""
        return self._block.buffer

    @property
    def offset(self) -> int:
        """Byte offset of the first element in `buffer`."""
        return self._position

    @property
    def base(self) -> int:
        """Elements between the lowest address of the tensor and its first element; not 0 where an axis runs backwards."""
        return (self.address - self.low) // self.element.nbytes

    @property
    def _position(self) -> int:
        return self._block.offset + self._origin

    def __repr__(self) -> str:
        return f"Tensor({self.dtype}{list(self.shape)} on {self.device.name})\n{self.to_numpy()}"


def view(tensor: Tensor, index: Any) -> Tensor:
    """``tensor[index]`` for integers, slices and one ellipsis.

    Raises:
        ShapeError: for anything else, or past the end.
    """
    items: list[Any] = list(cast("tuple[Any, ...]", index)) if isinstance(index, tuple) else [index]
    dots = [i for i, item in enumerate(items) if item is Ellipsis]
    if dots:
        at = dots[0]
        items[at : at + 1] = [slice(None)] * (tensor.ndim - len(items) + 1)
    items += [slice(None)] * (tensor.ndim - len(items))
    if len(items) > tensor.ndim:
        raise ShapeError(f"{len(items)} indices into {tensor.ndim} axes", saw=tensor.shape, hint="index each axis once")
    start = 0
    shape: list[int] = []
    strides: list[int] = []
    for axis, (item, extent, stride) in enumerate(zip(items, tensor.shape, tensor.strides)):
        if isinstance(item, slice):
            first, stop, step = item.indices(extent)
            count = len(range(first, stop, step))
            start += first * stride if count else 0
            shape.append(count)
            strides.append(stride * step)
        elif isinstance(item, (int, np.integer)) and not isinstance(item, bool):
            place = int(cast("int", item))
            at = place + extent if place < 0 else place
            if not 0 <= at < extent:
                raise ShapeError(
                    f"index {item} on axis {axis}", saw=tensor.shape, expected=f"below {extent}", hint="mind the extents"
                )
            start += at * stride
        else:
            raise ShapeError(f"cannot index with {item!r}", hint="use integers, slices and ...; gather with a Slang function")
    return Tensor(
        tensor.device,
        tensor.element,
        tuple(shape),
        block=tensor._block,  # pyright: ignore[reportPrivateUsage]
        offset=tensor._origin + start * tensor.element.nbytes,  # pyright: ignore[reportPrivateUsage]
        strides=tuple(strides),
    )


def reinterpret(tensor: Tensor, element: Element) -> Tensor | None:
    """The same memory as elements of another type, the last axes becoming components; ``None`` where that does not fit."""
    cut = len(element.shape)
    if tensor.element.type.kind is not Kind.SCALAR or element.type.scalar is not tensor.dtype:
        return None
    if not cut or tensor.shape[-cut:] != element.shape or tensor.strides[-cut:] != contiguous_strides(element.shape):
        return None
    factor = math.prod(element.shape)
    if tensor.device.target.kind == "cuda" and tensor.low % min(16, element.nbytes & -element.nbytes):
        return None  # CUDA stores a vector in one piece, and aborts where it is not aligned
    if any(s % factor for s in tensor.strides[:-cut]):
        return None
    strides = tuple(s // factor for s in tensor.strides[:-cut])
    return tensor.viewed(element, tensor.shape[:-cut], strides)


def _device(device: Any) -> Device:
    from fusepy.device import as_device  # the default device is chosen there, which needs the backend

    return as_device(device)


def _shape(shape: int | Sequence[int]) -> tuple[int, ...]:
    extents = (int(shape),) if isinstance(shape, (int, np.integer)) else tuple(int(n) for n in shape)
    if any(n < 0 for n in extents):
        raise ShapeError("a negative extent", saw=extents, hint="extents are 0 or more")
    return extents
