"""Memory that another framework owns, in place of a block of the pool."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from fusepy.backend.device.device import Device


class HostMemory:
    """Host memory in place of an sgl buffer, on devices that can address it."""

    __slots__ = ("device_address", "size")

    def __init__(self, address: int, nbytes: int):
        self.device_address = address
        self.size = nbytes


class Foreign:
    """Memory of another framework, in place of a block of the pool. It keeps `owner` alive while a kernel may use the memory.

    Attributes:
        address: device pointer of the first byte; `offset` bytes into `buffer`, if it lies in one.
    """

    __slots__ = ("_device", "_owner", "address", "buffer", "offset")

    def __init__(self, device: Device, address: int, owner: Any, buffer: Any = None, offset: int = 0):
        self._device = device
        self._owner = owner
        self.address = address
        self.buffer = buffer
        self.offset = offset

    def __del__(self) -> None:
        # Kernels in the queue may still read the memory, and this runs on any thread: it only hands over the owner.
        self._device.retired.append(self._owner)
