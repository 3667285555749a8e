"""Selection and opening of devices, and the default device."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import slangpy as spy

from fusepy.backend.cuda.driver import cuda_driver
from fusepy.backend.device.choice.chosen import CHOSEN
from fusepy.backend.device.device import Device, open_devices
from fusepy.backend.device.idle import take
from fusepy.backend.device.probe import TYPES
from fusepy.backend.device.selfcheck import selfcheck
from fusepy.backend.torch import current_cuda_device
from fusepy.errors import ArgumentError, DeviceError, did_you_mean

_default: Device | None = None
# hardware first; a software Vulkan driver is faster and far more complete than the cpu device
_PREFERENCE = ("cuda", "vulkan", "metal", "d3d12", "cpu")
_TRIED = tuple(name for name in _PREFERENCE if name in TYPES)  # sgl takes 0.2 s for a type that the platform does not have


class _Quiet(spy.LoggerOutput):
    """sgl's log, dropped: everything of importance is raised as an error."""

    def write(self, level: spy.LogLevel, name: str, msg: str) -> None:
        pass


def init_device(
    type: str | spy.DeviceType | None = None,
    adapter: int | str | None = None,
    include_paths: Sequence[str | os.PathLike[str]] = (),
    debug: bool = False,
    *,
    deferred: bool = True,
) -> Device:
    """Opens a device.

    Args:
        type: ``"cuda"``, ``"vulkan"``, ``"metal"``, ``"d3d12"`` or ``"cpu"``; by default the environment variable
            ``FUSEPY_DEVICE``, else the first that opens: CUDA, Vulkan on hardware, Metal or D3D12, Vulkan in software, CPU.
        adapter: index or part of the name of the adapter.
        include_paths: folders in which Slang looks for imported modules.
        debug: turns on the validation layers of sgl and slang-rhi, and its log.
        deferred: lets consecutive calls share a command buffer; False submits each call at once.

    Raises:
        DeviceError: if none opens; the error lists the reason of each attempt.

    Example:
        >>> init_device("vulkan").is_open
        True
    """
    wanted = type if type is not None else os.environ.get("FUSEPY_DEVICE", "").lower() or None
    names = [_type_name(wanted)] if wanted is not None else list(_TRIED)
    if not debug:
        _silence()
    failures: list[str] = []
    folders = [os.fspath(p) for p in include_paths]
    fallback: tuple[spy.Device, tuple[Any, ...]] | None = None
    for name in names:
        if name == "cpu" and fallback is not None:
            break
        try:
            opened, options = _open(name, adapter, include_paths, debug)
            wrong = selfcheck(opened)
        except DeviceError as error:  # there is no such adapter
            if wanted is not None:
                raise
            failures.append(f"{name}: {error.what} in {error.saw}")
            continue
        except (RuntimeError, spy.SlangCompileError) as error:  # sgl has no finer class
            failures.append(f"{name}: {str(error).splitlines()[0] if str(error) else 'no reason given'}")
            continue
        if wrong is not None:
            failures.append(f"{name}: {wrong}")
            continue
        if wanted is None and name == "vulkan" and spy.Feature.software_device in opened.features:
            fallback = opened, options  # software: used only if no hardware device opens
            continue
        index = options[-1] if name == "cuda" else None
        return Device(sgl=opened, include_paths=folders, deferred=deferred, cuda=index, options=options)
    if fallback is not None:
        return Device(sgl=fallback[0], include_paths=folders, deferred=deferred, options=fallback[1])
    raise DeviceError("no device could be opened", saw="; ".join(failures), hint="run 'fusepy doctor' to see what is missing")


def create_device(
    type: str | spy.DeviceType | None = None,
    enable_debug_layers: bool = False,
    include_paths: Sequence[str | os.PathLike[str]] = (),
) -> Device:
    """Opens a device with slangpy's parameter names; see `init_device`.

    Raises:
        DeviceError: if none opens.

    Example:
        >>> create_device(include_paths=["shaders"]).include_paths
        ('shaders',)
    """
    return init_device(None if type == spy.DeviceType.automatic else type, None, include_paths, enable_debug_layers)


def default_device() -> Device:
    """Returns the device that `load` uses. It is opened on first use, and again after it was closed."""
    global _default
    if (chosen := CHOSEN.get()) is not None:
        return chosen
    if _default is None or not _default.is_open:
        _default = init_device()
    return _default


def as_device(device: Any) -> Device:
    """Returns a fusepy device for a fusepy or slangpy one.

    Raises:
        ArgumentError: for anything else.
    """
    if isinstance(device, Device):
        device.check()
        return device
    if device is None:
        return default_device()
    if isinstance(device, spy.Device):
        if (found := owner_of(device)) is None:  # others submit to it as well
            found = _wrapped[id(device)] = Device(sgl=device, deferred=False, cuda=_cuda_of(device))
        return found
    raise ArgumentError("not a device", saw=repr(device), hint="pass what fusepy.init_device() or slangpy.Device() returns")


def owner_of(raw: spy.Device) -> Device | None:
    """Returns the open device for a slangpy device; ``None`` if fusepy has none open there."""
    return next((d for d in (*open_devices(), *_wrapped.values()) if d.raw is raw and d.is_open), None)


_wrapped: dict[int, Device] = {}


def _type_name(wanted: str | spy.DeviceType) -> str:
    name = wanted if isinstance(wanted, str) else wanted.name
    if name not in _PREFERENCE:
        raise DeviceError(f"unknown device type {name!r}", hint=did_you_mean(name, _PREFERENCE))
    return name


def _open(
    name: str, adapter: int | str | None, include_paths: Sequence[str | os.PathLike[str]], debug: bool
) -> tuple[spy.Device, tuple[Any, ...]]:
    """Opens a native device or takes an idle one. Also returns its options, by which it is kept when idle.

    The last option is the index of a CUDA device.
    """
    kind = spy.DeviceType[name]
    cuda = kind == spy.DeviceType.cuda
    if cuda and cuda_driver() is None:
        raise RuntimeError("there is no CUDA driver on this machine, or no device of it")
    luid: list[int] | None = None
    index = current_cuda_device() if cuda else 0
    if adapter is not None:
        adapters = spy.Device.enumerate_adapters(kind)
        matches = [
            a for i, a in enumerate(adapters) if (i == adapter if isinstance(adapter, int) else adapter.lower() in a.name.lower())
        ]
        if not matches:
            listed = ", ".join(f"{i}: {a.name}" for i, a in enumerate(adapters)) or "none"
            raise DeviceError(f"no {name} adapter {adapter!r}", saw=listed, hint="pass one of these indices or part of a name")
        luid, index = matches[0].luid, adapters.index(matches[0])
    context = _primary_context(index) if cuda else None
    folders = [os.path.abspath(p) for p in include_paths]
    options = (name, tuple(luid or ()), tuple(folders), debug, index)
    idle = take(options)
    if idle is not None:
        idle.set_cuda_context_current()  # this thread may not be the one that opened it
        return idle, options
    opened = spy.Device(
        type=kind,
        enable_debug_layers=debug,
        enable_rhi_validation=debug,  # 4 µs a call
        enable_hot_reload=False,
        adapter_luid=None if cuda else luid,  # the context says which device
        existing_device_handles=context,
        compiler_options={"include_paths": [*include_paths, spy.SHADER_PATH]},  # slangpy's tensors need its own module
    )
    return opened, options


def _primary_context(index: int) -> list[spy.NativeHandle]:
    """Makes the primary context of a CUDA device current, and returns it: that of torch, JAX and CuPy, which share memory so."""
    driver = cuda_driver()
    assert driver is not None
    driver.primary_context(index)
    return spy.get_cuda_current_context_native_handles()


def _cuda_of(device: spy.Device) -> int | None:
    """Returns the index of a CUDA device that slangpy has opened in its primary context."""
    driver = cuda_driver()
    if device.info.type != spy.DeviceType.cuda or driver is None:
        return None
    device.set_cuda_context_current()
    kinds = spy.NativeHandleType
    handles = {h.type: h.value for h in spy.get_cuda_current_context_native_handles()}
    index = handles.get(kinds.CUdevice, 0)  # the driver numbers devices by their handles
    return index if driver.primary_context(index) == handles.get(kinds.CUcontext) else None


def _silence() -> None:
    """Drops sgl's log. It must run before a device is created."""
    logger = spy.Logger.get()
    logger.remove_all_outputs()
    logger.add_output(_quiet)


_quiet = _Quiet()
