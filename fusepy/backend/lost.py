"""`Lost`: the replacement of a device that is closed or lost, and the error that its uses raise. `Losses` notices a loss.

A kernel can break a device, by a wild address or because the driver stopped it. The driver refuses all work from then on. Vulkan
says so in a submission, but its count of finished submissions just stands still: whoever looks at that alone waits
for ever. CUDA says so in every answer of its driver.
"""

from __future__ import annotations

import weakref
from typing import Any, NoReturn

import slangpy as spy

from fusepy.errors import DeviceLostError

ASKED_S = 0.5  # seconds between two questions of a wait
_WORDS = "DEVICE_LOST"
BROKEN = "a kernel has broken it (VK_ERROR_DEVICE_LOST), perhaps by a pointer or an index outside of its memory"


class Lost:
    """The replacement of a part of a device that is closed or lost. Any use of it raises `DeviceLostError`."""

    def __init__(self, cause: str):
        self._cause = cause

    def __getattr__(self, name: str) -> NoReturn:
        raise lost_error(self._cause)


def lost_error(cause: str) -> DeviceLostError:
    """Returns the error for a use of a device that is closed or lost."""
    return DeviceLostError(f"this device cannot be used: {cause}", hint="open one with fusepy.init_device()")


class Losses:
    """Marks one device as lost when its driver says so.

    Args:
        device: the device; None for a part that works alone.
    """

    def __init__(self, device: Any = None):
        self._device = None if device is None else weakref.ref(device)

    def report(self, cause: str) -> DeviceLostError:
        """Marks the device as lost, and returns the error."""
        device = None if self._device is None else self._device()
        if device is not None:
            device.break_down(cause)
        return lost_error(cause)

    def submit(self, sgl: spy.Device, encoder: spy.CommandEncoder) -> int:
        """Submits recorded work, and returns the identifier of the submission.

        Raises:
            DeviceLostError: if the device is lost.
        """
        try:
            return sgl.submit_command_buffer(encoder.finish())
        except RuntimeError as error:
            if _WORDS in str(error):
                raise self.report(BROKEN) from error
            raise

    def check(self, sgl: spy.Device, last: int | None) -> None:
        """Checks, after a wait, that the last submission is finished: sgl's wait ends without an error where a device is lost.

        Raises:
            DeviceLostError: if it is lost.
        """
        if last is not None and not sgl.is_submit_finished(last):
            self.ask(sgl)

    def ask(self, sgl: spy.Device) -> None:
        """Asks Vulkan's driver whether the device is lost.

        Raises:
            DeviceLostError: if it is.
        """
        if sgl.info.type is spy.DeviceType.vulkan:  # a submission says so, and a wait for a fence without time does not
            self.submit(sgl, sgl.create_command_encoder())
