"""`Codegen`: how code of kernels is made.

spirv-opt runs on code for GPUs; for drivers that run on the CPU, LLVM optimises. CUDA's compiler reads a short prelude.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import slangpy as spy

FAST_MATH = "fast_math"  # an option of modules that slangpy does not have
_LEVEL, _NONE = "optimization", spy.SlangOptimizationLevel.none  # none turns off spirv-opt, and nothing in Slang
Made = TypeVar("Made")


@dataclass(frozen=True)
class Codegen:
    """The way in which Slang, and the compiler behind it, make code of a kernel.

    Attributes:
        optimised: spirv-opt, Slang's optimiser of SPIR-V, runs; None: as the device and the user's modules say.
        fast_math: floats may be rounded otherwise than IEEE 754 says.
        whole_prelude: CUDA's compiler reads all that Slang writes before a kernel, see `prelude`: a user's entry point has no
            statement that includes the short one.
    """

    optimised: bool | None = None
    fast_math: bool = False
    whole_prelude: bool = False

    def apply(self, options: dict[str, object], kind: spy.DeviceType, optimised: bool) -> None:
        """Changes compiler options of modules into those of a session. Fast arithmetic is an option of CUDA's compiler only.

        Args:
            optimised: spirv-opt runs on this device if neither this nor `options` say whether.
        """
        of_modules = options.pop(FAST_MATH, False)
        if (self.fast_math or of_modules) and kind is spy.DeviceType.cuda:
            options["floating_point_mode"] = spy.SlangFloatingPointMode.fast
        if self.optimised is False or (self.optimised is None and _LEVEL not in options and not optimised):
            options[_LEVEL] = _NONE
        elif self.optimised and not optimises(options):
            del options[_LEVEL]

    def ways(self, done: Codegen, compile: Callable[[Codegen], Made]) -> tuple[Codegen, Callable[[], Made] | None]:
        """Returns how a program was compiled, and a function that compiles it the other way, if this does not say which.

        Args:
            done: that of the program's session.
            compile: compiles the program in a given way.
        """
        other = None
        if not done.whole_prelude:
            other = partial(compile, replace(self, whole_prelude=True))
        elif self.optimised is None:
            other = partial(compile, replace(self, optimised=not done.optimised))
        return replace(self, optimised=done.optimised, whole_prelude=done.whole_prelude), other


PRECISE = Codegen()


def optimises(options: Mapping[str, object]) -> bool:
    """True if spirv-opt runs with these options of a session."""
    return options.get(_LEVEL) is not _NONE
