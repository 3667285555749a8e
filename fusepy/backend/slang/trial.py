"""The compilation of a kernel in another process, which Slang's compiler may end."""

from __future__ import annotations

import pickle
import subprocess
import sys
import threading
from pathlib import Path

import slangpy as spy

from fusepy.backend.slang.stage import COMPUTE, PipelineStage
from fusepy.backend.sources.source import ModuleSource

PACKAGE = Path(__file__).parents[2]
# The other process needs Slang and the files of `backend/slang` only. Imports of torch, by slangpy, and of the rest of fusepy
# take several times as long as the compilation.
START = """
import sys, types
sys.modules["torch"] = None
sys.modules["fusepy"] = types.ModuleType("fusepy")
sys.modules["fusepy"].__path__ = [sys.argv[1]]
from fusepy.backend.slang.trial import trial
trial()
"""
TIMEOUT = 120.0  # seconds for the other process; it compiles a kernel
NO_DEVICE = 3  # the exit status of a process that could not open the device, which says nothing about the program


def tried(kind: spy.DeviceType, arguments: tuple[object, ...], stage: PipelineStage = COMPUTE) -> tuple[int, str]:
    """Compiles a program in another process.

    Args:
        arguments: those of `Compiler.compile`, or of `Compiler.link_existing`.

    Returns:
        how the process ended, and the words of Slang: 0 if the program compiles, 1 if Slang refuses it, else Slang crashed.

    Raises:
        OSError: if the process could not be started, or opened no device.
        subprocess.TimeoutExpired: if it took too long.
    """
    if not sys.executable:
        raise FileNotFoundError("an empty sys.executable: set it to the path of Python")
    child = subprocess.run(
        [sys.executable, "-c", START, str(PACKAGE)],
        input=pickle.dumps((sys.path, kind.name, arguments, stage)),
        capture_output=True,
        check=False,
        timeout=TIMEOUT,
    )
    words = child.stderr.decode("utf-8", "replace")
    if child.returncode == NO_DEVICE:
        raise OSError(f"the process opened no device: {words.strip()}")
    return child.returncode, words


def trial() -> None:
    """Runs in the other process: compiles the program in its standard input."""
    from fusepy.backend.slang.compiler import Compiler

    path, kind, arguments, stage = pickle.load(sys.stdin.buffer)
    sys.path[:] = path
    spy.Logger.get().remove_all_outputs()
    try:
        device = spy.Device(
            type=spy.DeviceType[kind], enable_hot_reload=False, compiler_options={"include_paths": [spy.SHADER_PATH]}
        )
    except RuntimeError as error:
        sys.stderr.write(str(error).partition("\n")[0])
        sys.exit(NO_DEVICE)
    compiler = Compiler(device, threading.RLock())
    make = compiler.link_existing if isinstance(arguments[0], ModuleSource) else compiler.compile
    compiler.pipeline("a trial", make(*arguments), (), stage=stage)
