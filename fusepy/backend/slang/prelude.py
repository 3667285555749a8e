"""The C++ text that CUDA's compiler reads before a kernel: all that Slang writes for any program, or what kernels mostly use.

Slang's text has 9,000 lines, for which NVRTC takes ten times as long as for a small kernel. A session can leave it out by a
macro, because NVRTC gets the session's macros; the kernel then includes ``fusepy/slang/fusepy_cuda.h``. Slang's text comes before
a program that may use more than that, and before one that NVRTC has refused without it.
"""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Sequence

import slangpy as spy

from fusepy.backend.sources.lacking import own_texts
from fusepy.backend.sources.libraries import FOLDER, INCLUDE_DIRS
from fusepy.backend.sources.source import ModuleSource

_HEADER = "FUSEPY_CUDA_H"
# a statement of an entry point; without the macro it includes nothing
_REQUIRE = rf'__requirePrelude("#ifdef {_HEADER}\n#include {_HEADER}\n#endif");'
INCLUDE = f"__target_switch {{ case cuda: {_REQUIRE} break; default: break; }}"
# macros of a session. The path is no part of a kernel's text, which caches know it by; NVRTC does not get the include folders
SHORT = {"SLANG_CUDA_PRELUDE_H": "1", _HEADER: f'"{FOLDER / "fusepy_cuda.h"}"'}

_RESOURCES = re.compile(r"Texture|Sampler|StructuredBuffer|ByteAddressBuffer|ConstantBuffer|ParameterBlock")
_MORE = re.compile(
    rf"{_RESOURCES.pattern}|\[\s*shader\b|\bprintf\b|\b(?:Wave|Quad|Coop|Optix|debug)[A-Z]|__requirePrelude|__intrinsic_asm|__target_"
    r"|\bbfloat|\bBFloat|\bFloat[EB]|\bTorchTensor|\bAtomic(?!Tensor)|\bInterlocked"
)


@functools.cache
def arguments() -> tuple[str, ...]:
    """Returns NVRTC's arguments for a kernel behind the short text: its own declarations without textures, 20 ms less.

    NVRTC has the argument since CUDA 12.4. Slang loads the library of this name on Linux.
    """
    version = (ctypes.c_int * 2)()
    try:
        ctypes.CDLL("libnvrtc.so").nvrtcVersion(version, ctypes.byref(version, ctypes.sizeof(ctypes.c_int)))
    except (OSError, AttributeError):
        return ()
    return ("-minimal",) if tuple(version) >= (12, 4) else ()


def needs_all(sources: Sequence[ModuleSource], text: str) -> bool:
    """True if a program of these modules, called by the generated `text`, may use more than the short text has."""
    return _RESOURCES.search(text) is not None or any(map(_uses_more, sources))


@functools.lru_cache(256)
def _uses_more(source: ModuleSource) -> bool:
    return any(_MORE.search(text) for _, text in own_texts(source))


def macros_are_written(sources: Sequence[ModuleSource], kind: spy.DeviceType) -> bool:
    """True if defines are written before the text of modules: Slang gives those of a session to CUDA's compiler too.

    There a define such as N changes the headers. What a user's modules import does not see defines that are written, so these
    modules keep the other way.
    """
    return kind is spy.DeviceType.cuda and all(path.startswith(INCLUDE_DIRS) for s in sources for path, _ in s.files)


def with_macros(text: str, defines: Sequence[tuple[str, str]]) -> str:
    """Returns a module's text behind its defines. Slang's errors in these are "at the command line", as in those of a session."""
    lines = "".join(f"#define {name} {value}\n" for name, value in defines)
    return f'#line 1 "command line"\n{lines}{text}' if lines else text
