"""The Slang modules of fusepy and slangpy: their folders, and their array types.

Both libraries call theirs `Tensor`, and a user may do so too, so a type's name does not identify it. Reflection does: arrays of
fusepy have a method that nothing else has, arrays of slangpy the methods of slangpy's protocol. Testing for an interface is not
an option: `is_sub_type` of a generic type sometimes ends the process, because it misses a context that related calls set up.
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
# searched last, so that a user's files come first; resolved, as the paths of a module's files are
INCLUDE_DIRS = (str(FOLDER), str(Path(spy.SHADER_PATH).resolve()))

_METHODS = {"fusepy": ("_is_fusepy_array",), "slangpy": ("__slangpy_load", "__slangpy_store")}
_NAMES = {name for names in FAMILIES.values() for name in names}
_SEEN = {"fusepy": "FusepyLibrary", "slangpy": "ValueRef<float>"}  # a type of each library that the other does not have


def is_array(type: spy.TypeReflection) -> bool:
    """True if `type` may be an array of a library, judged by its name; `array_name` knows."""
    return type.kind == spy.TypeReflection.Kind.struct and type.name in _NAMES


def array_name(type: spy.TypeReflection, layout: spy.ProgramLayout) -> str | None:
    """Returns the name of an array type with its library, ``fusepy::Tensor<float,2>``, or the plain name of another struct.

    Returns None if an argument of the type is still generic.
    """
    try:
        plain = Type.parse(type.full_name)
    except InvalidNameError:  # an extent that is computed from parameters
        return None
    if found(layout.find_type_by_name(plain.name)) is None:  # an argument that the module does not know is a generic parameter
        return None
    for library, methods in _METHODS.items():
        if any(found(layout.find_function_by_name_in_type(type, name)) is not None for name in methods):
            return f"{library}::{plain.name}"
    return plain.name


def seen(layout: spy.ProgramLayout) -> Sequence[str]:
    """Returns the libraries whose arrays a module can name."""
    return [name for name, type in _SEEN.items() if found(layout.find_type_by_name(type)) is not None]


_T = TypeVar("_T")


def found(value: _T) -> _T | None:
    """Returns the result of a look-up. The stubs promise an object, but Slang returns None for an unknown name."""
    return value
