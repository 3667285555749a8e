"""What stands for ``slangpy.testing.helpers`` in slangpy's tests: the same helpers, with devices and modules of fusepy."""

from __future__ import annotations

import hashlib
import inspect
import math
from pathlib import Path
from typing import Any

import numpy as np
import slangpy
from slangpy.testing.helpers import *  # noqa: F403
from slangpy.testing.helpers import DEFAULT_DEVICE_TYPES, test_id  # noqa: F401

import fusepy as spy

_devices: dict[tuple[Any, str], spy.Device] = {}


def get_device(type: Any, use_cache: bool = True, **_: Any) -> spy.Device:
    """Opens a device as slangpy's helper does: imports are looked up beside the test."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_code.co_filename == __file__:
        frame = frame.f_back
    assert frame is not None
    folder = Path(frame.f_code.co_filename).parent
    key = (type, str(folder))
    if use_cache and key in _devices:
        return _devices[key]
    made = spy.Device(
        type=type,
        enable_debug_layers=True,
        enable_rhi_validation=True,
        compiler_options={"include_paths": [str(folder), slangpy.SHADER_PATH]},
        label=f"{'cached' if use_cache else 'uncached'}-fusepy",
    )
    if use_cache:
        _devices[key] = made
    return made


def create_module(device: Any, module_source: str, link: Any = (), options: Any = None) -> spy.Module:
    """Loads a module from source, as a user does."""
    loaded = device.load_module_from_source(hashlib.sha256(module_source.encode()).hexdigest()[:16], module_source)
    return spy.Module(loaded, link=list(link), options=dict(options or {}))


def create_function_from_module(device: Any, func_name: str, module_source: str, link: Any = (), options: Any = None) -> Any:
    """Loads a module from source, and returns one of its functions or methods."""
    if 'import "slangpy";' not in module_source:
        module_source = 'import "slangpy";\n' + module_source
    module = create_module(device, module_source, link, options)
    *struct, name = func_name.split(".")
    try:
        found = module.find_function_in_struct("::".join(struct), name) if struct else module.find_function(name)
    except spy.UnknownNameError:  # where slangpy returns None
        found = None
    if found is None:
        raise ValueError(f"Could not find function {func_name}")
    return found


def read_tensor_from_numpy(buffer: spy.Tensor) -> np.ndarray[Any, Any]:
    """Reads all elements, one after the other, into one array: numbers, or dicts for structs."""
    data = np.array([])
    for element in buffer.cursor():
        data = np.append(data, element.read())
    return data


def write_tensor_from_numpy(buffer: spy.Tensor, data: np.ndarray[Any, Any], element_count: int = 0) -> None:
    """Overwrites the elements with numbers, one element after the other."""
    shape = buffer.dtype.shape
    count = element_count or math.prod(shape)
    cursor = buffer.cursor()
    for i in range(buffer.size):
        cursor[i].write(data[i * count : (i + 1) * count].reshape(shape) if shape else data[i])
    cursor.apply()
