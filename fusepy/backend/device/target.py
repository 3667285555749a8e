"""`Target`: what decides about kernels of a device."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """What the emitter must know of a device: the ``kind`` for `tuning.choose`, and where the parameter block goes.

    On CUDA a module-scope uniform costs an upload per launch (14.3 against 7.5 µs a call), on Vulkan an entry-point uniform is
    a push constant of at most 128 bytes.
    """

    kind: str

    @property
    def entry_point_block(self) -> bool:
        return self.kind == "cuda"
