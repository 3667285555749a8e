"""`NDBuffer` and `NDDifferentiableBuffer`: `Tensor` with the constructors and methods of the SlangPy proposal (SP#016)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from fusepy.backend.device.open import as_device
from fusepy.backend.memory.element import Element, element_of
from fusepy.backend.memory.foreign_memory import from_dlpack
from fusepy.backend.memory.host_arrays import as_array
from fusepy.backend.memory.structs import as_structs
from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.memory.views import as_shape
from fusepy.errors import ArgumentError, ShapeError
from fusepy.ir.types import FLOAT

Array = np.ndarray[Any, np.dtype[Any]]


class NDBuffer(Tensor):
    """A tensor with slangpy's constructor: ``NDBuffer(device, dtype=module.Pixel, shape=(16, 16))`` holds zeros.

    Args:
        device: the device; or an array with ``__dlpack__``, such as a torch tensor, whose memory it shares if the device can
            address it. The device is then `on`, or the default one.
        dtype: the Slang type of an element; float by default.
        shape: the extents; `element_count` gives a single axis.
        element_type: another name of `dtype`.

    Raises:
        ArgumentError: if neither shape nor array is given.

    Example:
        >>> import fusepy as fp
        >>> b = NDBuffer(fp.default_device(), shape=(2, 2))
        >>> b.from_numpy(np.arange(4))
        >>> b.to_numpy()
        array([[0., 1.],
               [2., 3.]], dtype=float32)
    """

    __slots__ = ()
    _has_grads = False

    def __init__(
        self,
        device: Any = None,
        dtype: Any = None,
        shape: int | Sequence[int] | None = None,
        *,
        element_count: int | None = None,
        element_type: Any = None,
        on: Any = None,
    ):
        dtype = element_type if dtype is None else dtype
        if hasattr(device, "__dlpack__") or isinstance(device, np.ndarray):
            if shape is not None or element_count is not None:
                raise ArgumentError("NDBuffer(array) takes its shape from the array", saw=shape, hint="omit shape=")
            shared = from_dlpack(Tensor, as_device(on), device, dtype)
            super().__init__(
                shared.device, shared.element, shared.shape, block=shared.block, offset=shared.origin, strides=shared.strides
            )
        else:
            wanted = element_count if shape is None else shape
            if wanted is None:
                hint = "write NDBuffer(device, dtype=module.float3, shape=(16, 16))"
                raise ArgumentError("NDBuffer() needs a shape", hint=hint)
            element = element_of(FLOAT if dtype is None else dtype)
            super().__init__(as_device(device if on is None else on), element, as_shape(wanted))
            self.clear()
        if self._has_grads:
            made = self.with_grads()
            self.attach(made.grad_in, made.grad_out)

    def from_numpy(self, array: Array) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]  # as SP#016 spells it
        """Fills the buffer with the numbers of an array in C order. The shape of the array does not matter.

        Floats convert to floats, and integers to integers or floats.

        Raises:
            ShapeError: if there are more or fewer numbers than the buffer holds.
            UnsupportedArgumentError: for another kind of numbers.
        """
        self.copy_from_numpy(filling(as_array(array), self.element, self.shape))


class NDDifferentiableBuffer(NDBuffer):
    """An `NDBuffer` with a gradient of the same shape. It binds to ``DifferentialPair`` parameters.

    Raises:
        GradientError: for a dtype without derivatives.

    Example:
        >>> import fusepy as fp
        >>> b = NDDifferentiableBuffer(fp.default_device(), shape=(3,))
        >>> b.grad.shape
        (3,)
    """

    __slots__ = ()
    _has_grads = True


def filling(array: Array, element: Element, shape: tuple[int, ...]) -> Array:
    """Returns an array as contents for a tensor of `element` and `shape`. Its numbers are taken in C order.

    Raises:
        ShapeError, UnsupportedArgumentError: if it does not fit.
    """
    if array.dtype == element.dtype and array.shape == shape + element.shape:
        return array
    if element.dtype.names is not None and array.dtype.names is None:
        scalar = np.dtype(element.dtype[0].base)
        found = as_structs(np.ravel(_converted(array, scalar)), element)
    else:
        found = np.ravel(_converted(array, element.dtype))
    try:
        return found.reshape(shape + element.shape)
    except ValueError:
        raise ShapeError(
            f"an array of shape {array.shape} does not fill a buffer of {element.type}{list(shape)}",
            saw=f"{array.size} numbers",
            expected=f"{np.prod(shape + element.shape, dtype=int)} of {element.dtype}",
            hint="check the extents",
        ) from None


def _converted(array: Array, dtype: np.dtype[Any]) -> Array:
    if array.dtype.names is not None or dtype.names is not None or not np.can_cast(array.dtype, dtype, "same_kind"):
        return array  # the caller refuses it
    return array.astype(dtype)
