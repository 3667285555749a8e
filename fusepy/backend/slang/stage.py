"""The stage of a kernel: how its entry point is marked, which places its threads read, its pipeline, and the pass that runs it.

Compute is the one stage there is. Another one is a class with the methods of this one; docs/extending.md says who asks them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import slangpy as spy

THREAD_INDEX = "uint fz_lane : SV_GroupIndex"  # the number of a thread in its group
THREAD_ID = "uint3 fz_lane : SV_GroupThreadID"  # its place in the group
_WIDTHS = {32: "", 16: r"\b(?:half|float16_t)", 64: r"\b(?:double|float64_t)"}  # not every device has the last two


class _Compute:
    """Compute shaders."""

    attribute = '[shader("compute")]'

    def attributes(self, threads: Sequence[int]) -> list[str]:
        """The attributes of an entry point in groups of so many threads along x, y and z."""
        return [self.attribute, f"[numthreads({', '.join(map(str, threads))})]"]

    def head(self, name: str, lane: str, parameters: str = "") -> str:
        """The declaration of an entry point. It reads the place of its group, ``fz_group``, and of the thread in it: `lane`."""
        return f"void {name}(uint3 fz_group : SV_GroupID, {lane}{parameters})"

    def exact(self, text: str) -> list[str]:
        """The first statements of an entry point in SPIR-V, for a kernel of this `text`: NaN, infinities and signed zeros count.

        SPIR-V lets drivers ignore them where this is not said. NVIDIA's make a maximum without NaN of ``c > a ? c : a``; they and
        Mesa make 0 of ``0 * x``. It holds for all functions that the entry point calls.
        """
        widths = [n for n, types in _WIDTHS.items() if re.search(types, text)]
        return [
            "// NaN, infinities and signed zeros count",
            'spirv_asm { OpCapability SignedZeroInfNanPreserve; OpExtension "SPV_KHR_float_controls"; };',
            *(f"spirv_asm {{ OpExecutionMode __entryPoint SignedZeroInfNanPreserve {n}; }};" for n in widths),
        ]

    def pipeline(self, device: spy.Device, program: spy.ShaderProgram) -> spy.ComputePipeline:
        """The pipeline of a linked program."""
        return device.create_compute_pipeline(program)

    # makes a pass that kernels are recorded into; sgl's own method, since each dispatch calls it
    begin = staticmethod(spy.CommandEncoder.begin_compute_pass)


COMPUTE = _Compute()
