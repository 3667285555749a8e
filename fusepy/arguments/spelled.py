"""Types as users spell them: types of modules, their names, Python's and NumPy's."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from fusepy.backend.memory.element import scalar_type, type_named
from fusepy.errors import ArgumentError
from fusepy.ir.types import SCALARS, Type

# full names only: a struct may be called "S" or "B", which are short names of NumPy; Slang's "float" and "int" have 32 bits
_NAMES = frozenset(cast("Any", dtype).name for dtype in SCALARS.values()) - SCALARS.keys()


def type_of(spec: Any) -> Type:
    """Returns the `Type` of ``m.float3``, a `Type`, a name, a NumPy dtype or its name, or a type of slangpy.

    Raises:
        ArgumentError: for anything else.

    Example:
        >>> type_of("float3"), type_of("uint8"), type_of(np.float64)
        (float3, uint8_t, double)
    """
    found = type_named(spec)
    if found is not None:
        return found
    numpys: Any = np.dtype(spec) if isinstance(spec, str) and spec in _NAMES else spec
    if isinstance(numpys, str):
        return Type.parse(numpys)
    if isinstance(numpys, np.dtype) or (isinstance(numpys, type) and issubclass(numpys, np.generic)):
        return scalar_type(np.dtype(cast("Any", numpys)))
    if spec in (float, int, bool):
        return Type.parse(spec.__name__)
    raise ArgumentError(f"{spec!r} is not a Slang type", hint="pass a type of a module, e.g. m.float3, or its name")
