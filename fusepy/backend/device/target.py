"""`Target`: the properties of a device that decide about its kernels."""

from __future__ import annotations

import re
from dataclasses import dataclass

import slangpy as spy


@dataclass(frozen=True)
class Target:
    """The properties of a device for the emitter.

    They are the ``kind`` for `tuning.choose`, the place of the parameter block, and whether kernels become SPIR-V. On CUDA a
    module-scope uniform costs an upload per launch (14.3 against 7.5 µs a call); on Vulkan an entry-point uniform is a push
    constant of at most 128 bytes. `lanes` are the floats in a vector of a driver that runs on the CPU; 0 if it is not known.
    `in_order` says that groups start in the order of their numbers, and that one that waits leaves the others their turn.
    `cores` says that CUDA's kernels can multiply halfs by tensor cores.
    """

    kind: str
    spirv: bool = False
    lanes: int = 0
    in_order: bool = True
    cores: bool = False

    @property
    def entry_point_block(self) -> bool:
        return self.kind == "cuda"

    @property
    def loses_signs(self) -> bool:
        """True if the assembler may take a negated integer without its sign."""
        return self.kind == "cuda"

    @property
    def pads_halfs(self) -> bool:
        """True if three halfs take more bytes in Slang's types than in tensors."""
        return self.kind == "cuda"


def kind_of(device: spy.Device) -> str:
    """Returns ``"cuda"``, ``"software"`` for a driver that runs on the CPU, or the name of the API."""
    name = device.info.type.name
    return "software" if name == "cpu" or spy.Feature.software_device in device.features else name


def is_host_addressable(device: spy.Device) -> bool:
    """True if a device address of `device` is a pointer that the host may dereference.

    The device's type and adapter name decide; nothing is tried, because a wrong guess ends the process.

    Example:
        >>> is_host_addressable(spy.Device(type=spy.DeviceType.cpu, enable_hot_reload=False))
        True
    """
    return device.info.type == spy.DeviceType.cpu or "llvmpipe" in device.info.adapter_name


def lanes_of(adapter: str) -> int:
    """Returns the floats in a vector of the processor that lavapipe uses, which is its subgroup; 0 for other drivers.

    Example:
        >>> lanes_of("llvmpipe (LLVM 15.0.6, 256 bits)")
        8
    """
    found = re.search(r"llvmpipe .*?(\d+) bits", adapter)
    return int(found[1]) // 32 if found else 0


def is_in_order(kind: str, adapter: str) -> bool:
    """Returns `Target.in_order`: no API promises it, NVIDIA's GPUs do it. On Apple's, groups that wait are known to hang.

    Example:
        >>> is_in_order("vulkan", "NVIDIA H200"), is_in_order("metal", "Apple M2")
        (True, False)
    """
    return kind == "cuda" or "NVIDIA" in adapter


def has_cores(device: spy.Device) -> bool:
    """True if the kernels of a device may use `fusepy_cores.slang`: on CUDA, from compute capability 8.0 on."""
    return device.info.type == spy.DeviceType.cuda and device.has_capability("_cuda_sm_8_0")
