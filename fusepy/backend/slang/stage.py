"""The stage of a kernel: the form of its entry point, the thread positions that it reads, its pipeline, and its pass.

This is compute; `raster` beside it draws. docs/extending.md lists the callers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import slangpy as spy

from fusepy.backend.slang.prelude import INCLUDE

THREAD_INDEX = "uint fz_lane : SV_GroupIndex"  # the number of a thread in its group
THREAD_ID = "uint3 fz_lane : SV_GroupThreadID"  # the position of a thread in its group
ANY_REGISTERS = 256  # threads of a group, for each of which there are as many registers as CUDA's compiler uses at most
_WIDTHS = {32: "", 16: r"\b(?:half|float16_t)", 64: r"\b(?:double|float64_t)"}  # not every device has 16 and 64 bits


AnyPipeline: TypeAlias = Any  # of compute, of a draw, of rays
EntryPoints: TypeAlias = str | tuple[str, ...]  # the entry point of a kernel, or those of a pipeline of several stages


def names_of(entry_points: EntryPoints) -> tuple[str, ...]:
    """Returns entry points as a tuple."""
    return (entry_points,) if isinstance(entry_points, str) else entry_points


class PipelineStage(Protocol):
    """The part of a stage that the construction of kernels needs.

    Attributes:
        own: the names of global parameters that its kernels have for themselves.
    """

    own: tuple[str, ...] = ()

    def pipeline(self, device: spy.Device, program: spy.ShaderProgram) -> AnyPipeline:
        """Creates the pipeline of a linked program."""
        ...


class _Compute(PipelineStage):
    """The compute stage."""

    attribute = '[shader("compute")]'

    def attributes(self, threads: Sequence[int]) -> list[str]:
        """Returns the attributes of an entry point with this group size along x, y and z."""
        return [self.attribute, f"[numthreads({', '.join(map(str, threads))})]"]

    def head(self, name: str, lane: str, parameters: str = "") -> str:
        """Returns the declaration of an entry point. It reads the group's position, ``fz_group``, and the thread's: `lane`."""
        return f"void {name}(uint3 fz_group : SV_GroupID, {lane}{parameters})"

    def first(self, text: str, threads: Sequence[int], spirv: bool, cuda: bool, resident: int = 0) -> list[str]:
        """Returns the first statements of an entry point with this group size, for a program `text`; see `bounds`."""
        return self.exact(text) if spirv else [INCLUDE, *self.bounds(math.prod(threads), resident)] if cuda else []

    def bounds(self, threads: int, resident: int = 0) -> list[str]:
        """Returns a statement that tells CUDA's compiler how many `threads` share the registers; Slang does not.

        It would else take more for each than a large group has, and the driver refuses the launch (error 701).

        Args:
            resident: groups that a multiprocessor runs at a time. The compiler prefers 8 of 256 threads, for which it has threads
                wait for their first loads before the next ones begin. Told that fewer will do, it has registers for all loads.
        """
        if threads <= ANY_REGISTERS and not resident:
            return []
        given = f"{threads}, {resident}" if resident else threads
        redefined = f"#undef __global__\\n#define __global__ __attribute__((global)) __launch_bounds__({given})"
        return [f'__requirePrelude("{redefined}");']

    def exact(self, text: str) -> list[str]:
        """Returns statements for SPIR-V, which keep NaN, infinities and signed zeros.

        Otherwise SPIR-V lets drivers ignore them: NVIDIA's make a maximum without NaN of ``c > a ? c : a``; they and Mesa make 0
        of ``0 * x``. The statements also cover all functions that the entry point calls.
        """
        widths = [n for n, types in _WIDTHS.items() if re.search(types, text)]
        return [
            "// NaN, infinities and signed zeros count",
            "spirv_asm { OpCapability SignedZeroInfNanPreserve; };",
            *(f"spirv_asm {{ OpExecutionMode __entryPoint SignedZeroInfNanPreserve {n}; }};" for n in widths),
        ]

    def pipeline(self, device: spy.Device, program: spy.ShaderProgram) -> spy.ComputePipeline:
        """Creates the pipeline of a linked program."""
        return device.create_compute_pipeline(program)

    # Begins a pass of an encoder. sgl's own function: every dispatch calls it, and looking it up by name takes 80 ns more.
    begin = staticmethod(spy.CommandEncoder.begin_compute_pass)


COMPUTE = _Compute()
