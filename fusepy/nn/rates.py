"""Learning rates: numbers, or functions of the number of a step."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

from fusepy.errors import ArgumentError

Rate = float | Callable[[int], float]  # a number, or a function of the number of the step, which is 1 at first


def check_rate(optimiser: str, rate: Any) -> None:
    """Raises `ArgumentError` unless `rate` is a finite number from 0, or a function of one argument."""
    if callable(rate):
        try:
            inspect.signature(rate).bind(1)
        except TypeError as error:
            raise _refused(f"{optimiser}: lr is a function of one number", error) from None
        except ValueError:  # a function of C may have no signature
            return
    elif not (isinstance(rate, (int, float)) and _is_rate(rate)):
        what = f"{optimiser}: lr is no learning rate"
        raise ArgumentError(what, saw=repr(rate)[:60], hint="pass a number such as 1e-3, or a function of the number of the step")


def rate_in(optimiser: str, rate: Rate, step: int) -> float:
    """Returns the learning rate of a step.

    Raises:
        ArgumentError: for a function that returns no finite number from 0.
    """
    if not callable(rate):
        return float(rate)
    given: Any = rate(step)
    try:
        found = float(given)
    except (TypeError, ValueError):
        found = math.nan
    if not _is_rate(found):
        raise _refused(f"{optimiser}: lr gives no learning rate for step {step}", repr(given)[:60])
    return found


def _is_rate(number: float) -> bool:
    return 0 <= number < math.inf


def _refused(what: str, saw: object) -> ArgumentError:
    return ArgumentError(what, saw=saw, hint="write lr=lambda n: 1e-3 * 0.99**n, a number for each step, from step 1 on")
