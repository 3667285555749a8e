"""The names of whole arrays in a kernel. The Slang libraries of fusepy and slangpy both have a type `Tensor`.

In the IR the name of the library precedes that of the type. A kernel that uses one library imports it and omits this prefix. A
kernel that uses both imports modules with an alias for each type, since nothing else distinguishes them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence

from fusepy.backend.emit.shims import Shims
from fusepy.ir.types import Type
from fusepy.ir.whole import library, spelled


class ArrayNames:
    """The names of whole arrays in one kernel.

    Attributes:
        imports: the modules to import for them.
    """

    def __init__(self, types: Sequence[Type], shims: Shims, imports: Mapping[str, Sequence[str]]):
        used = list(dict.fromkeys(types))
        libraries = list(dict.fromkeys(library(t) for t in used))
        self._names = {t.name: spelled(t) for t in used}
        self.imports = libraries
        for name, text in shims.sources.items():  # a shim calls into one module, which sees one library
            seen = [n for n in libraries if f"{n}::" in text]
            shims.sources[name] = "".join(f"import {n};\n" for n in seen) + self.spell(text)
        if len(libraries) > 1:
            self.imports = []
            for n in libraries:
                aliases = {t: re.sub(r"\W+", "_", t.name).strip("_") for t in used if library(t) == n}
                lines = [f"import {n};", *(f"import {module};" for names in imports.values() for module in names)]
                lines += [f"public typealias {alias} = {spelled(t)};" for t, alias in aliases.items()]
                source = "\n".join(lines) + "\n"
                shims.sources[f"arrays_{hashlib.sha256(source.encode()).hexdigest()[:20]}"] = source
                self._names.update({t.name: alias for t, alias in aliases.items()})

    def spell(self, text: str) -> str:
        """Returns `text` with the kernel's name for every whole array."""
        for name in sorted(self._names, key=len, reverse=True):
            text = text.replace(name, self._names[name])
        return text


def packed_strides(extents: Sequence[str]) -> str:
    """Returns the Slang initializer of the strides of an array without gaps: loops over it compute no products for addresses.

    Example:
        >>> packed_strides(["a", "b", "c"])
        '{ int(b * c), int(c), 1 }'
    """
    products = (" * ".join(extents[axis + 1 :]) for axis in range(len(extents)))
    return "{ " + ", ".join(f"int({p})" if p else "1" for p in products) + " }"
