"""CUDA's compiler without a GPU: Slang's CUDA text of a kernel, and PTX of it by NVRTC.

NVRTC and the headers come with the packages nvidia-cuda-nvrtc-cu12 and nvidia-cuda-runtime-cu12.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.support.slangc import CUDA, compiled


def _part(package: str, pattern: str) -> Path | None:
    """Returns a file of one of NVIDIA's packages, or None."""
    spec = find_spec(f"nvidia.{package}") if find_spec("nvidia") else None
    return next(
        (file for folder in (spec.submodule_search_locations if spec else None) or () for file in Path(folder).glob(pattern)),
        None,
    )


LIBRARY, HEADER = _part("cuda_nvrtc", "lib/libnvrtc.so.*[0-9]"), _part("cuda_runtime", "include/cuda_fp16.h")


def cuda(text: str, entry: str, folders: Sequence[Path]) -> str:
    """Returns Slang's CUDA text of one entry point, which may import the modules of these folders."""
    return compiled(text, [entry], folders, CUDA)[0]


def ptx(text: str, macros: Mapping[str, str], arguments: Sequence[str] = ()) -> str:
    """Returns the PTX of a CUDA text with these macros. Functions without a mark are refused, as behind Slang.

    Raises:
        ValueError: with NVRTC's words.
    """
    assert HEADER is not None
    nvrtc = ctypes.CDLL(str(LIBRARY))
    defined = [f"-D{name}={value}" for name, value in macros.items()]
    options = ["--gpu-architecture=compute_90", f"-I{HEADER.parent}", *defined, *arguments]
    given = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None)
    try:
        if nvrtc.nvrtcCompileProgram(program, len(given), given):
            raise ValueError(_read(nvrtc, program, "ProgramLog"))
        return _read(nvrtc, program, "PTX")
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))


def _read(nvrtc: Any, program: ctypes.c_void_p, what: str) -> str:
    size = ctypes.c_size_t()
    getattr(nvrtc, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    read = ctypes.create_string_buffer(size.value)
    getattr(nvrtc, f"nvrtcGet{what}")(program, read)
    return read.value.decode()


def code(text: str) -> str:
    """Returns the part of a PTX text that runs, without the numbers of its labels."""
    return re.sub(r"\$L__BB\d+", "$L__BB", text[text.index(".visible .entry") :])
