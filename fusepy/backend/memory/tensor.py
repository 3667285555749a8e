"""`Tensor`: an n-dimensional array of Slang values in device memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from fusepy.backend.device.open import as_device
from fusepy.backend.memory import contents, foreign_memory, gradients, recast, views
from fusepy.backend.memory.construction import constructed, on_default_device
from fusepy.backend.memory.cursor import BufferCursor
from fusepy.backend.memory.element import element_of
from fusepy.backend.memory.pending import PENDING, before_write
from fusepy.backend.memory.slangpy_names import SlangpyNames, check_buffer
from fusepy.backend.memory.storage import Storage
from fusepy.errors import ArgumentError, ShapeError
from fusepy.ir.ranges import check_range
from fusepy.ir.types import FLOAT, INT
from fusepy.ir.value import Array
from fusepy.methods import ArrayMethods


@on_default_device("empty", "zeros", "full", "arange", "from_numpy", "from_dlpack")
class Tensor(SlangpyNames, ArrayMethods):
    """An array of Slang scalars, vectors, matrices or structs on a device.

    ``Tensor([1, 2, 3])`` holds these numbers, by default as floats. ``Tensor([1, 2], [3, 4])`` has a row for each list.
    ``Tensor(array)`` copies an array and keeps its dtype. ``Tensor((4, 5))`` and ``Tensor(other.shape)`` are zeros.
    Keywords: `dtype`, `shape`, `device` (default: the default device), and `needs_grads`, which attaches gradients.

    Attributes:
        shape: extents, slowest first, without the components of an element.
        dtype: the Slang type of one element, e.g. ``float3``.
        strides: distances between neighbours along each axis, in elements; 0 repeats an element, negative runs backwards.
        device: the device whose memory it occupies.

    Slices, transposes and broadcasts are views: they share memory, and their gradients do too. Operators work element by element
    (`elementwise` adds them): ``t + 1`` and ``t == u`` are new tensors, ``t += 1`` writes into `t`. Fields of structs are views:
    ``rays.position``, or ``rays["size"]`` for a name that a tensor has. ``Tensor.zeros((2, 3))`` is on the default device.

    Example:
        >>> t = Tensor([0, 1, 2], [3, 4, 5])
        >>> t.shape, str(t.dtype), t[1, ::2].tolist(), t.T[0].tolist()
        ((2, 3), 'float', [3.0, 5.0], [0.0, 3.0])
        >>> (t > 3).tolist()
        [[False, False, False], [False, True, True]]
    """

    __slots__ = ()

    def fill_in(self, given: Sequence[Any], shape: Any, dtype: Any, device: Any, needs_grads: bool) -> None:
        new = constructed(Tensor, given, shape, dtype, as_device(device))
        Storage.__init__(self, new.device, new.element, new.shape, block=new.block, offset=new.origin, strides=new.strides)
        if needs_grads:
            self.attach(*gradients.checked(self, None, None, zero=True))

    @staticmethod
    def empty(device: Any, shape: int | Sequence[int], dtype: Any = FLOAT, usage: Any = None, memory_type: Any = None) -> Tensor:
        """Allocates a tensor with arbitrary contents. `usage` and `memory_type` are checked only, see `slangpy_names`.

        Raises:
            ShapeError, OutOfDeviceMemory: for negative extents, and if the device cannot hold it.
        """
        check_buffer(device, usage, memory_type)
        return Tensor(as_device(device), element_of(dtype), views.as_shape(shape))

    @staticmethod
    def zeros(device: Any, shape: int | Sequence[int], dtype: Any = FLOAT, usage: Any = None, memory_type: Any = None) -> Tensor:
        """Returns a tensor of zeros; see `empty`."""
        check_buffer(device, usage, memory_type)
        return contents.zeros(Tensor, as_device(device), element_of(dtype), views.as_shape(shape))

    @staticmethod
    def empty_like(other: Tensor) -> Tensor:
        """Allocates a tensor like another one, with its shape, dtype and device, and with arbitrary contents."""
        return Tensor(other.device, other.element, other.shape)

    @staticmethod
    def zeros_like(other: Tensor) -> Tensor:
        """Returns a tensor of zeros with the shape, dtype and device of another one."""
        return contents.zeros(Tensor, other.device, other.element, other.shape)

    @staticmethod
    def full(device: Any, shape: int | Sequence[int], value: Any, dtype: Any = FLOAT) -> Tensor:
        """Returns a tensor with `value` in every element; a sequence gives one number per component."""
        made, idle = contents.fresh(Tensor, as_device(device), element_of(dtype), views.as_shape(shape))
        return contents.fill(made, value, idle)

    @staticmethod
    def arange(device: Any, stop: int, dtype: Any = INT) -> Tensor:
        """Returns the numbers ``0, 1, …, stop - 1``.

        Raises:
            ShapeError, RangeError: if `stop` is not an integer; if `dtype` cannot hold ``stop - 1``.
        """
        (count,), element = views.integers((stop,), "arange: stop"), element_of(dtype)
        check_range(max(count - 1, 0), element.type, f"arange({count})", hint="widen dtype")
        return Tensor.from_numpy(device, np.arange(count, dtype=element.dtype), dtype)

    @staticmethod
    def from_numpy(
        device: Any,
        array: Array,
        dtype: Any = None,
        *,
        usage: Any = None,
        memory_type: Any = None,
        target_slang_dtype: Any = None,
    ) -> Tensor:
        """Copies a NumPy array into a new tensor. `target_slang_dtype` is slangpy's word for `dtype`; see `empty` for others.

        Args:
            array: an array of any shape and strides, in native byte order.
            dtype: the Slang type of an element; by default the scalar of the array's dtype. A vector or matrix takes the
                trailing axes: ``(100, 3)`` floats as ``float3`` have shape ``(100,)``. A struct takes a structured array.

        Raises:
            UnsupportedArgumentError: for a dtype that Slang does not have.
            ShapeError: if the trailing axes do not fill `dtype`.
        """
        check_buffer(device, usage, memory_type)
        return contents.from_array(Tensor, as_device(device), array, target_slang_dtype if dtype is None else dtype)

    @staticmethod
    def from_dlpack(device: Any, array: Any, dtype: Any = None) -> Tensor:
        """Returns a tensor that shares the memory of another framework's array, through its ``__dlpack__``.

        If the device cannot address the memory (a GPU and a host array), the contents are copied. Shared memory needs
        synchronisation: call ``device.wait()`` before the other framework reads or writes it. `dtype` is as in `from_numpy`.

        Raises:
            UnsupportedArgumentError: for an array without DLPack, or of a dtype that Slang does not have.
        """
        return foreign_memory.from_dlpack(Tensor, as_device(device), array, dtype)

    def to_numpy(self) -> Array:
        """Returns a copy of the contents. Its shape is the tensor's shape, then the components of an element."""
        return contents.to_numpy(self)

    numpy = to_numpy

    def copy_from_numpy(self, array: Array) -> None:
        """Overwrites the contents, also through a view. A tensor of structs also takes plain numbers, struct after struct.

        Raises:
            ShapeError: unless the array's shape is the tensor's, then the components, up to axes of extent 1, or the array has
                these numbers along one axis; and if the tensor repeats elements.
            UnsupportedArgumentError: for another dtype; nothing is converted.
        """
        if PENDING:
            before_write(self)
        contents.copy_from_numpy(self, array)

    def copy_from(self, source: Tensor) -> None:
        """Copies a tensor of the same device, shape and dtype into this one. Raises `ShapeError` if they do not fit."""
        contents.copy_elements(source, self)

    def clear(self) -> Tensor:
        """Sets every byte to zero. Returns the tensor."""
        if PENDING:
            before_write(self)
        contents.clear(self)
        return self

    def copy(self) -> Tensor:
        """Returns a contiguous copy without gradients, made on the device."""
        return contents.copy(self)

    def contiguous(self) -> Tensor:
        """Returns the tensor itself if it is contiguous, else a contiguous copy."""
        return self if self.linear else contents.copy(self)

    __copy__ = copy

    def __deepcopy__(self, memo: Any) -> Tensor:
        return contents.copy(self)

    def __reduce__(self) -> NoReturn:
        raise ArgumentError("a tensor cannot be pickled: its memory belongs to a device", hint="pickle t.to_numpy()")

    def cursor(self, start: int = 0, count: int | None = None) -> BufferCursor:
        """Returns a cursor that reads and writes single elements; see `BufferCursor`."""
        return BufferCursor(self, start, count)

    def item(self, *index: Any) -> Any:
        """Returns one element, a list for a vector: the only one, or that at indices. Raises `ShapeError` for many."""
        return contents.item(self.contiguous().reshape(-1)[index] if len(index) == 1 else self[index] if index else self)

    def compute(self) -> Tensor:
        """Returns the tensor, after the calls recorded by `fusepy.lazy` that produce it."""
        return self

    def tolist(self) -> Any:
        """Returns the contents as nested lists."""
        return self.to_numpy().tolist()

    def __float__(self) -> float:
        return float(contents.number(self, "float()"))

    def __int__(self) -> int:
        return int(contents.number(self, "int()"))

    def __bool__(self) -> bool:
        return bool(contents.number(self, "the truth"))

    @property
    def T(self) -> Tensor:  # noqa: N802  # NumPy's name
        """A view with all axes reversed."""
        return self.seen(views.transposed, None)

    def __len__(self) -> int:
        if not (extents := self.shape or self.dtype.shape):
            raise ShapeError("a 0-d tensor has no length", hint="read it with .to_numpy()")
        return extents[0]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Tensor:
        found = recast.field(self, index) if isinstance(index, str) else recast.component(self, index)
        return self.seen(views.indexed, index) if found is None else found

    def __setitem__(self, index: Any, value: Any) -> None:
        recast.in_place(self, self[index]).assign(value)

    def assign(self, value: Any) -> None:
        """Overwrites the elements with a tensor, an array or a number, which are broadcast; ``t[...] = value`` calls it."""
        contents.assign(self, value)

    def reshape(self, *shape: int | Sequence[int]) -> Tensor:
        """Returns a view with other extents; one may be -1. Raises `ShapeError` unless elements are equally far apart."""
        return self.seen(views.reshaped, views.numbers(shape))

    def transpose(self, *axes: int | Sequence[int]) -> Tensor:
        """Returns a view with permuted axes; reversed by default. Raises `ShapeError` unless each axis is named once."""
        return self.seen(views.transposed, views.numbers(axes) if axes else None)

    def broadcast_to(self, *shape: int | Sequence[int]) -> Tensor:
        """Returns a read-only view broadcast to `shape`, with stride 0 along new axes. Raises `ShapeError` if it does not fit."""
        return self.seen(views.broadcast, views.numbers(shape))

    def flatten_dtype(self) -> Tensor:
        """Returns a view as scalars: components become trailing axes. Raises `UnsupportedArgumentError` for structs."""
        return recast.flattened(self)

    def with_grads(self, grad_in: Tensor | None = None, grad_out: Tensor | None = None, *, zero: bool = True) -> Tensor:
        """Returns this tensor with gradients attached, in the same memory.

        Args:
            grad_in: the gradient that is read: the cotangent of a result, or the second half of a ``DifferentialPair``.
            grad_out: the gradient that calls add to. By default one new tensor is both, which `zero` clears.

        Raises:
            ArgumentError, ShapeError, GradientError: if a gradient is no tensor, or has another shape, type or device.

        Example:
            >>> Tensor([1, 2, 3]).with_grads().grad.tolist()
            [0.0, 0.0, 0.0]
        """
        made = self.detach()
        made.attach(*gradients.checked(self, grad_in, grad_out, zero))
        return made

    @property
    def grad_in(self) -> Tensor | None:
        """The gradient that calls read, or None."""
        return None if self.grads is None else self.grads[0]

    @property
    def grad_out(self) -> Tensor | None:
        """The gradient that calls add to, or None."""
        return None if self.grads is None else self.grads[1]

    @property
    def grad(self) -> Tensor | None:
        """The gradient: `grad_out`, else `grad_in`, else None. It is not assigned: see `with_grads`, and ``x.grad.clear()``."""
        return self.grad_in if self.grad_out is None else self.grad_out

    @property
    def needs_grad(self) -> bool:
        """True if gradients are attached."""
        return self.grads is not None

    def __repr__(self) -> str:
        grads = "" if self.grads is None else " with gradients"
        return f"Tensor({self.dtype}{list(self.shape)}{grads} on {self.device.name})\n{self.to_numpy()}"


Tensor.plain = Tensor


def computed(value: Any) -> Any:
    """Runs the recorded calls behind a tensor, and returns it. Other values are returned as they are."""
    return value.compute() if isinstance(value, Tensor) else value
