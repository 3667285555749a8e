"""Times of one function, fused and call by call, for ``fusepy demo``."""

from __future__ import annotations

import inspect
import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import fusepy as fp

ROUNDS = 9
ROUNDS_S = 4.0  # no new round of timing begins after this time


@dataclass(frozen=True)
class Timing:
    """The time of one way of running, in seconds per round, and its number of kernel dispatches per round."""

    name: str
    kernels: int
    seconds: list[float]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)


@dataclass(frozen=True)
class Report:
    """The measurements of developing a picture.

    Attributes:
        explanation: the output of the fused function's `explain`.
        rows: the number of rows of the picture that were timed.
        timings: the fused function, and the same function call by call.
        difference: the largest difference between the two results, in code values from 0 to 1.
    """

    ir: str
    explanation: fp.Explanation
    rows: int
    timings: tuple[Timing, Timing]
    difference: float


def measure(device: fp.Device, develop: fp.FusedFunction, arguments: tuple[Any, ...]) -> tuple[Report, NDArray[np.float32]]:
    """Runs the fused function and the same Python function call by call, in turns. Compares their results."""
    runs: dict[str, Callable[..., Any]] = {"fused": develop, "call by call": inspect.unwrap(develop)}
    results: dict[str, NDArray[np.float32]] = {}
    kernels: dict[str, int] = {}
    seconds: dict[str, list[float]] = {name: [] for name in runs}
    for name, function in runs.items():  # compiles
        before = fp.stats(device).dispatches
        results[name] = function(*arguments).to_numpy()
        kernels[name] = fp.stats(device).dispatches - before
    begun = time.perf_counter()
    while len(seconds["fused"]) < ROUNDS and (time.perf_counter() - begun < ROUNDS_S or not seconds["fused"]):
        for name, function in runs.items():
            start = time.perf_counter()
            kept = function(*arguments)  # alive until the device is done
            device.wait()
            seconds[name].append(time.perf_counter() - start)
            del kept
    fused, separate = (Timing(name, kernels[name], seconds[name]) for name in runs)
    difference = float(np.max(np.abs(results["fused"] - results["call by call"])))
    rows = results["fused"].shape[0]
    return Report(develop.ir(*arguments), develop.explain(*arguments), rows, (fused, separate), difference), results["fused"]
