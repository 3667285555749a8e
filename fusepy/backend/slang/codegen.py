"""`Codegen`: how code of kernels is made. spirv-opt runs on code for GPUs; for drivers that run on the CPU, LLVM optimises."""

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
    """

    optimised: bool | None = None
    fast_math: bool = False

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

    def ways(self, optimised: bool, compile: Callable[[Codegen], Made]) -> tuple[Codegen, Callable[[], Made] | None]:
        """Returns how a program was compiled, and a function that compiles it the other way, if this does not say which.

        Args:
            optimised: spirv-opt runs in the session of the program.
            compile: compiles the program in a given way.
        """
        other = partial(compile, replace(self, optimised=not optimised))
        return replace(self, optimised=optimised), other if self.optimised is None else None


PRECISE = Codegen()


def optimises(options: Mapping[str, object]) -> bool:
    """True if spirv-opt runs with these options of a session."""
    return options.get(_LEVEL) is not _NONE
