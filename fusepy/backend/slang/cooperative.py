"""Cooperative vectors: on GPUs that have them one instruction multiplies a vector of each thread with a matrix in memory.

The layers of ``fusepy_nn.slang`` use it in place of loops where a macro of the session says so. A user's define of the same name
overrides it: 0 keeps the loops.
"""

from __future__ import annotations

import slangpy as spy

COOPERATIVE = "FUSEPY_COOPERATIVE_VECTORS"


def macros_of(device: spy.Device) -> dict[str, str]:
    """Returns the macros of all sessions of a device. CUDA has such vectors in OptiX only, and Slang refuses them elsewhere."""
    has = device.info.type is spy.DeviceType.vulkan and spy.Feature.cooperative_vector in device.features
    return {COOPERATIVE: "1"} if has else {}
