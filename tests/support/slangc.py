"""Slang's C interface: the text of kernels for targets whose devices are not here."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import slangpy as spy

CUDA, SPIRV = 17, 7  # of slang.h: SlangCompileTarget; the second one is SPIR-V as text
FRAGMENT, COMPUTE = 5, 6  # SlangStage
_SLANG = 1  # SlangSourceLanguage


@functools.cache
def _slang() -> tuple[Any, ctypes.c_void_p]:
    """Returns Slang's C interface and a session of it."""
    slang = ctypes.CDLL(str(next(Path(spy.__file__).parent.glob("libslang-compiler.so*"))))
    slang.spCreateSession.restype = slang.spCreateCompileRequest.restype = ctypes.c_void_p
    slang.spGetEntryPointSource.restype = slang.spGetDiagnosticOutput.restype = ctypes.c_char_p
    return slang, ctypes.c_void_p(slang.spCreateSession(None))


def compiled(
    text: str,
    entries: Sequence[str],
    folders: Sequence[Path],
    target: int,
    defines: Mapping[str, str] = MappingProxyType({}),
    stage: int = COMPUTE,
) -> list[str]:
    """Returns Slang's text of each entry point for a target. The text may import the modules of these folders.

    Raises:
        ValueError: with Slang's words.
    """
    slang, session = _slang()
    request = ctypes.c_void_p(slang.spCreateCompileRequest(session))
    try:
        slang.spAddCodeGenTarget(request, target)
        for name, value in defines.items():
            slang.spAddPreprocessorDefine(request, name.encode(), value.encode())
        for folder in folders:
            slang.spAddSearchPath(request, str(folder).encode())
        unit = slang.spAddTranslationUnit(request, _SLANG, b"kernel")
        slang.spAddTranslationUnitSourceString(request, unit, b"kernel.slang", text.encode())
        numbers = [slang.spAddEntryPoint(request, unit, entry.encode(), stage) for entry in entries]
        if slang.spCompile(request) < 0:
            raise ValueError(slang.spGetDiagnosticOutput(request).decode())
        return [slang.spGetEntryPointSource(request, number).decode() for number in numbers]
    finally:
        slang.spDestroyCompileRequest(request)
