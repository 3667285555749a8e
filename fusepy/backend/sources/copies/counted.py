"""Copies of functions that trace rays, in which payloads count how deep a ray is; see `fusepy_recursion`."""

from __future__ import annotations

import functools
import re

from fusepy.backend.sources.closure import bare
from fusepy.backend.sources.copies.files import copied
from fusepy.backend.sources.declarations import functions
from fusepy.backend.sources.source import ModuleSource

COUNTING, DEPTH = "fusepy_recursion", "fusepy_depth"
IMPORT = f"\n\nimport {COUNTING};\n"  # the empty line ends a continued one
_TRACE = re.compile(r"(?<![.:\w])TraceRay(?=\s*[<(])")


def with_counts(text: str) -> str:
    """Returns the source of a module whose rays count. It calls a function of `fusepy_recursion`, and does not import it.

    Example:
        >>> with_counts("void hit(inout P p, A a) { TraceRay(s, 0, 255, 0, 0, 0, r, p); }")
        'void hit(inout P p, A a) { fz_TraceRay(s, 0, 255, 0, 0, 0, r, p); }'
    """
    plain = bare(text, in_place=True)
    if _TRACE.search(plain) is None or any(name == "TraceRay" for name, _ in functions(plain)):  # or one of the user's own
        return text
    return _TRACE.sub("fz_TraceRay", plain)


@functools.lru_cache(maxsize=64)
def counted_source(source: ModuleSource) -> ModuleSource:
    """Returns a module with the text of `with_counts`, also in the files of the user that it imports and includes."""
    return copied(source, with_counts, IMPORT)
