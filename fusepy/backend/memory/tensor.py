"""`Tensor`: an n-dimensional array of Slang values in device memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

import fusepy.backend.memory.contents as contents
import fusepy.backend.memory.foreign_memory as foreign_memory
import fusepy.backend.memory.gradients as gradients
import fusepy.backend.memory.recast as recast
import fusepy.backend.memory.sharing as sharing
import fusepy.backend.memory.views as views
from fusepy.backend.device.open import as_device
from fusepy.backend.memory.construction import constructed
from fusepy.backend.memory.cursor import BufferCursor
from fusepy.backend.memory.element import element_of
from fusepy.backend.memory.pending import PENDING, before_write
from fusepy.backend.memory.storage import Storage
from fusepy.backend.torch import as_torch
from fusepy.errors import ArgumentError, ShapeError
from fusepy.ir.ranges import check_range
from fusepy.ir.types import FLOAT, INT

Array = np.ndarray[Any, np.dtype[Any]]


class Tensor(Storage):
    """An array of Slang scalars, vectors, matrices or structs on a device.

    ``Tensor([1, 2, 3])`` holds these numbers, as floats where `dtype` says nothing else; ``Tensor([1, 2], [3, 4])`` a row for
    each list; ``Tensor(array)`` a copy of an array, of its dtype; ``Tensor((4, 5))`` or ``Tensor(other.shape)`` zeros.
    Keywords are `dtype`, `shape`, `device` (by default the default one), and `needs_grads` for `with_grads` as well.

    Attributes:
        shape: extents, slowest first, without the components of an element.
        dtype: the Slang type of one element, e.g. ``float3``.
        strides: distances between neighbours along each axis, in elements; 0 repeats, negative runs backwards.
        device: where it lies.

    Slices, transposes and broadcasts are views that share memory, and so do their gradients. Operators work element by element,
    as fusepy's functions do (`elementwise` adds them): ``t + 1`` and ``t == u`` are new tensors, ``t += 1`` writes into `t`.

    Example:
        >>> import fusepy as fp
        >>> t = Tensor.from_numpy(fp.default_device(), np.arange(6, dtype=np.float32).reshape(2, 3))
        >>> t.shape, str(t.dtype)
        ((2, 3), 'float')
        >>> t[1, ::2].to_numpy(), t.T[0].to_numpy()
        (array([3., 5.], dtype=float32), array([0., 3.], dtype=float32))
        >>> (t > 3).tolist()
        [[False, False, False], [False, True, True]]
        >>> Tensor([1, 2, 3], needs_grads=True).grad.tolist()
        [0.0, 0.0, 0.0]
    """

    __slots__ = ()

    def fill_in(self, given: Sequence[Any], shape: Any, dtype: Any, device: Any, needs_grads: bool) -> None:
        made = constructed(Tensor, given, shape, dtype, as_device(device))
        Storage.__init__(self, made.device, made.element, made.shape, block=made.block, offset=made.origin, strides=made.strides)
        if needs_grads:
            self.attach(*gradients.checked(self, None, None, zero=True))

    # ---- making -------------------------------------------------------------------------------------------------

    @staticmethod
    def empty(device: Any, shape: int | Sequence[int], dtype: Any = FLOAT) -> Tensor:
        """A tensor with arbitrary contents.

        Raises:
            ShapeError: for negative extents.
            OutOfDeviceMemory: if the device cannot hold it.
        """
        return Tensor(as_device(device), element_of(dtype), views.as_shape(shape))

    @staticmethod
    def zeros(device: Any, shape: int | Sequence[int], dtype: Any = FLOAT) -> Tensor:
        """A tensor of zeros."""
        return contents.zeros(Tensor, as_device(device), element_of(dtype), views.as_shape(shape))

    @staticmethod
    def empty_like(other: Tensor) -> Tensor:
        """A tensor with the shape, dtype and device of another one, and arbitrary contents."""
        return Tensor(other.device, other.element, other.shape)

    @staticmethod
    def zeros_like(other: Tensor) -> Tensor:
        """A tensor of zeros with the shape, dtype and device of another one."""
        return contents.zeros(Tensor, other.device, other.element, other.shape)

    @staticmethod
    def full(device: Any, shape: int | Sequence[int], value: Any, dtype: Any = FLOAT) -> Tensor:
        """A tensor with `value` in every element; a sequence gives one number per component."""
        made, idle = contents.fresh(Tensor, as_device(device), element_of(dtype), views.as_shape(shape))
        return contents.fill(made, value, idle)

    @staticmethod
    def arange(device: Any, stop: int, dtype: Any = INT) -> Tensor:
        """``0, 1, …, stop - 1``.

        Raises:
            ShapeError: if `stop` is no integer.
            RangeError: if `dtype` cannot count so far.
        """
        element = element_of(dtype)
        (count,) = views.integers((stop,), "arange: stop")
        check_range(max(count - 1, 0), element.type, f"arange({count})", hint="widen dtype")
        return Tensor.from_numpy(device, np.arange(count, dtype=element.dtype), dtype)

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
        return contents.from_array(Tensor, as_device(device), array, dtype)

    @staticmethod
    def from_dlpack(device: Any, array: Any, dtype: Any = None) -> Tensor:
        """The memory of another framework's array as a tensor, without a copy, by its ``__dlpack__``.

        Where the device cannot reach the memory (a GPU, for an array of the host), the contents are copied. Memory that is
        shared belongs to both: wait for the device (``device.wait()``) before the other side reads or writes it.

        Args:
            dtype: as in `from_numpy`.

        Raises:
            UnsupportedArgumentError: if it is no such array, or of a dtype that Slang does not have.
        """
        return foreign_memory.from_dlpack(Tensor, as_device(device), array, dtype)

    # ---- contents -----------------------------------------------------------------------------------------------

    def to_numpy(self) -> Array:
        """A copy of the contents: shape of the tensor, then the components of an element."""
        return contents.to_numpy(self)

    def copy_from_numpy(self, array: Array) -> None:
        """Overwrites the contents, those of a view too; a tensor of structs takes plain numbers too, one struct behind the other.

        Raises:
            ShapeError: unless the array has the tensor's shape with the components behind it, or if elements are repeated.
            UnsupportedArgumentError: for another dtype; conversions are never silent.
        """
        if PENDING:
            before_write(self)
        contents.copy_from_numpy(self, array)

    def copy_from(self, source: Tensor) -> None:
        """Overwrites the contents with those of another tensor of this device, shape and dtype, on the device.

        Raises:
            ShapeError: if they do not fit, or share memory.
        """
        contents.copy_elements(source, self)

    def clear(self) -> Tensor:
        """Sets every byte to zero, and returns the tensor."""
        if PENDING:
            before_write(self)
        contents.clear(self)
        return self

    def copy(self) -> Tensor:
        """A contiguous copy in memory of its own, made on the device; without gradients."""
        return contents.copy(self)

    def contiguous(self) -> Tensor:
        """The tensor itself if its elements lie behind one another, else a contiguous copy."""
        return self if self.linear else contents.copy(self)

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Tensor:
        return contents.copy(self)

    def __reduce__(self) -> NoReturn:
        raise ArgumentError("a tensor cannot be pickled: its memory belongs to a device", hint="pickle t.to_numpy()")

    def cursor(self, start: int = 0, count: int | None = None) -> BufferCursor:
        """The elements, to be read and written one by one; see `BufferCursor`."""
        return BufferCursor(self, start, count)

    def item(self) -> Any:
        """The one element of a tensor of size 1: a Python number, or a list for a vector.

        Raises:
            ShapeError: for any other size.
        """
        return contents.item(self)

    def compute(self) -> Tensor:
        """Runs the calls behind it now, where it is the result of calls that `fusepy.lazy` has recorded; returns the tensor."""
        return self

    def tolist(self) -> Any:
        """The contents as nested lists."""
        return self.to_numpy().tolist()

    def __float__(self) -> float:
        return float(contents.number(self, "float()"))

    def __int__(self) -> int:
        return int(contents.number(self, "int()"))

    def __bool__(self) -> bool:
        return bool(contents.number(self, "the truth"))

    # ---- shape --------------------------------------------------------------------------------------------------

    @property
    def T(self) -> Tensor:  # noqa: N802  # NumPy's name
        """A view with all axes reversed."""
        return self.seen(views.transposed, None)

    def __len__(self) -> int:
        if not self.shape:
            raise ShapeError("a 0-d tensor has no length", hint="read it with .to_numpy()")
        return self.shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Tensor:
        return self.seen(views.indexed, index)

    def __setitem__(self, index: Any, value: Any) -> None:
        contents.assign(self[index], value)

    def reshape(self, *shape: int | Sequence[int]) -> Tensor:
        """A view of a contiguous tensor with other extents; one may be -1.

        Raises:
            ShapeError: if the sizes differ or the tensor is not contiguous.
        """
        return self.seen(views.reshaped, views.numbers(shape))

    def view(self, shape: int | Sequence[int], dtype: Any = None) -> Tensor:
        """`reshape` as slangpy spells it; with a dtype, the components are taken from the last axes, or given to them.

        Raises:
            ShapeError: if the sizes differ or the tensor is not contiguous.
        """
        if dtype is None:
            return self.reshape(shape)
        return recast.seen_as(self, element_of(dtype), views.as_shape(shape))

    def transpose(self, *axes: int | Sequence[int]) -> Tensor:
        """A view with its axes in another order; all reversed if none are named.

        Raises:
            ShapeError: unless each axis is named once.
        """
        return self.seen(views.transposed, views.numbers(axes) if axes else None)

    def broadcast_to(self, *shape: int | Sequence[int]) -> Tensor:
        """A view stretched to `shape` by NumPy's rule; repeated elements have stride 0 and can be read only.

        Raises:
            ShapeError: if the extents do not agree from the right.
        """
        return self.seen(views.broadcast, views.numbers(shape))

    def flatten_dtype(self) -> Tensor:
        """A view as scalars: the components of vectors, matrices and arrays become trailing axes.

        Raises:
            UnsupportedArgumentError: for structs.
        """
        return recast.flattened(self)

    # ---- gradients ----------------------------------------------------------------------------------------------

    def with_grads(self, grad_in: Tensor | None = None, grad_out: Tensor | None = None, *, zero: bool = True) -> Tensor:
        """This tensor with gradients beside it, in the same memory.

        Args:
            grad_in: what is read as the gradient of a result, or as the second half of a ``DifferentialPair``.
            grad_out: where gradients are added up. If neither is given, one new tensor is both.
            zero: whether a new gradient is cleared.

        Raises:
            GradientError: for a type without derivatives, such as int.
            ShapeError: if a gradient has another shape, type or device.

        Example:
            >>> import fusepy as fp
            >>> x = Tensor.zeros(fp.default_device(), 3).with_grads()
            >>> x.grad.to_numpy()
            array([0., 0., 0.], dtype=float32)
        """
        grad_in, grad_out = gradients.checked(self, grad_in, grad_out, zero)
        made = self.detach()
        made.attach(grad_in, grad_out)
        return made

    @property
    def grad_in(self) -> Tensor | None:
        """The gradient that is read; ``None`` where there is none."""
        return None if self.grads is None else self.grads[0]

    @property
    def grad_out(self) -> Tensor | None:
        """The gradient that is added to; ``None`` where there is none."""
        return None if self.grads is None else self.grads[1]

    @property
    def grad(self) -> Tensor | None:
        """The gradient: `grad_out`, else `grad_in`; ``None`` where there is none."""
        if self.grads is None:
            return None
        given, collected = self.grads
        return given if collected is None else collected

    # ---- memory, and sharing it ---------------------------------------------------------------------------------

    @property
    def buffer(self) -> Any:
        """The sgl buffer that holds the memory, and with `offset` the raw way in; turns deferred submission off.

        Raises:
            ExportError: for memory of another framework, which is in no buffer.
        """
        return sharing.buffer(self)

    def torch(self) -> Any:
        """A torch tensor of the contents: in the same memory where torch can reach it, else a copy on the CPU.

        Shared memory belongs to both: wait for the device (``device.wait()``) before torch reads what a later call writes.

        Raises:
            MissingPackageError: if torch is not installed.
            UnsupportedArgumentError: for structs.
        """
        return as_torch(self)

    def __dlpack__(self, **options: Any) -> Any:
        return sharing.dlpack(self, **options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return sharing.dlpack_device(self)

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return sharing.cuda_array_interface(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        contents.check_read(self, "a NumPy array")
        found = sharing.host_array(self) if copy is False else self.to_numpy()
        return found if dtype is None else found.astype(dtype, copy=copy is not False)

    def __repr__(self) -> str:
        grads = "" if self.grads is None else " with gradients"
        return f"Tensor({self.dtype}{list(self.shape)}{grads} on {self.device.name})\n{self.to_numpy()}"


Tensor.plain = Tensor


def computed(value: Any) -> Any:
    """A value that is no recorded call of `fusepy.lazy` any more, where it was one."""
    return value.compute() if isinstance(value, Tensor) else value
