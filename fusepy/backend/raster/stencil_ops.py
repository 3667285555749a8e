"""The operations of a stencil test, as the graphics layer takes them.

In slangpy 0.43 every member of ``StencilOp`` is ``keep``: its C++ enumeration has the value of that one for all of them, and its
Python enumeration follows. The C++ description of a face takes the numbers of Vulkan's order all the same, so they are written
into it: three bytes before the comparison. The place of the comparison is checked first, with every value that it takes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.metadata import version

import slangpy as spy

from fusepy.errors import DeviceError

OPS: Mapping[str, int] = {  # name of the option, number in the graphics layer
    "keep": 0,
    "zero": 1,
    "replace": 2,
    "increment": 3,
    "decrement": 4,
    "invert": 5,
    "increment_wrap": 6,
    "decrement_wrap": 7,
}
_NAMES = {"increment": "increment_saturate", "decrement": "decrement_saturate"}  # those of slangpy that differ
_FIELDS = "stencil_fail_op", "stencil_depth_fail_op", "stencil_pass_op"  # in the order of the C++ structure
_COMPARISON, _SIZE = 4, 8  # bytes before the comparison; of the structure


def check_ops(names: Sequence[str]) -> None:
    """Raises `DeviceError` if this slangpy cannot set these operations."""
    if is_flat() and any(name != "keep" for name in names) and not _holds_bytes():
        raise DeviceError(
            "this slangpy sets no operations of stencils",
            saw=f"slangpy {version('slangpy')}, in which every StencilOp is keep",
            expected="a slangpy that tells them apart",
            hint="install another version of slangpy, or leave stencil_pass, stencil_fail and stencil_depth_fail away",
        )


def face_with(compare: spy.ComparisonFunc, fail: str, depth_fail: str, passed: str) -> spy.DepthStencilOpDesc:
    """Returns the description of a face, with operations that `check_ops` has let pass."""
    face, chosen = spy.DepthStencilOpDesc(), (fail, depth_fail, passed)
    if not is_flat():
        for field, name in zip(_FIELDS, chosen):
            setattr(face, field, spy.StencilOp[_NAMES.get(name, name)])
    elif _holds_bytes():
        (ctypes.c_uint8 * len(chosen)).from_address(_address(face))[:] = bytes(OPS[name] for name in chosen)
    face.stencil_func = compare
    return face


def is_flat() -> bool:
    """True if slangpy has one value for all operations."""
    return len(set(spy.StencilOp)) == 1


def _address(face: spy.DepthStencilOpDesc) -> int:
    """Returns the address of the C++ structure inside of a Python object, which says how far it lies behind its header."""
    return id(face) + ctypes.c_int32.from_address(id(face) + object.__basicsize__).value


@lru_cache(maxsize=1)
def _holds_bytes() -> bool:
    """True if the structure lies inside of its object, and the comparison where it is expected."""
    face = spy.DepthStencilOpDesc()
    if not object.__basicsize__ < _address(face) - id(face) == type(face).__basicsize__ - _SIZE:
        return False
    comparison = ctypes.c_uint32.from_address(_address(face) + _COMPARISON)
    for expected in spy.ComparisonFunc:
        face.stencil_func = expected
        if comparison.value != expected.value:
            return False
    return True
