"""The Slang modules that ship with fusepy and slangpy: where they lie, and which of their array types a type is.

Both call theirs `Tensor`, and a user may do so too, so the name of a type says nothing. What tells is reflection: arrays of
fusepy have a method that nothing else has, those of slangpy the methods of slangpy's own protocol. Whether they implement an
interface is no question to ask: `is_sub_type` of a generic type ends the process now and then (it misses a context that its
neighbours set up).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TypeVar

import slangpy as spy

from fusepy.errors import InvalidNameError
from fusepy.ir.types import Type
from fusepy.ir.whole import FAMILIES

FOLDER = Path(__file__).resolve().parents[2] / "slang"
INCLUDE_DIRS = (str(FOLDER), str(spy.SHADER_PATH))  # searched last, so that a user's own files come first

_METHODS = {"fusepy": ("_is_fusepy_array",), "slangpy": ("__slangpy_load", "__slangpy_store")}
_NAMES = {name for names in FAMILIES.values() for name in names}
_SEEN = {"fusepy": "FusepyLibrary", "slangpy": "ValueRef<float>"}  # a type of each that the other does not have


def is_array(type: spy.TypeReflection) -> bool:
    """Whether the name of `type` allows that it is an array of a library; `array_name` knows."""
    return type.kind == spy.TypeReflection.Kind.struct and type.name in _NAMES


def array_name(type: spy.TypeReflection, layout: spy.ProgramLayout) -> str | None:
    """The name of an array type with its library in front, ``fusepy::Tensor<float,2>``; the plain name of any other struct.

    ``None`` where an argument of the type is still generic.
    """
    try:
        plain = Type.parse(type.full_name)
    except InvalidNameError:  # an extent that is computed from parameters
        return None
    if _found(layout.find_type_by_name(plain.name)) is None:  # an argument that the module does not know is a parameter
        return None
    for library, methods in _METHODS.items():
        if any(_found(layout.find_function_by_name_in_type(type, name)) is not None for name in methods):
            return f"{library}::{plain.name}"
    return plain.name


def seen(layout: spy.ProgramLayout) -> Sequence[str]:
    """The libraries whose arrays a module can name."""
    return [name for name, type in _SEEN.items() if _found(layout.find_type_by_name(type)) is not None]


_T = TypeVar("_T")


def _found(value: _T) -> _T | None:
    """What a look-up returned. The stubs promise an object, but a name that Slang does not know gives ``None``."""
    return value
