"""Checks for authors of extensions: a conformance suite for marshals, and comparison with NumPy.

A marshal is one kind of argument (see `fusepy.Marshal` and docs/marshals.md). `check_marshal` holds it to the protocol and runs
it through every way of calling: plain, mapped, cast, declared, fused and captured.

Nothing here imports pytest; under it, `marshal_checks` makes one test of each check::

    @pytest.mark.parametrize("check", fp.testing.marshal_checks(PolarMarshal(), EXAMPLES), ids=str)
    def test_polar(check):
        check()
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fusepy.backend.marshals.registry import Marshal
from fusepy.errors import FusepyError
from fusepy.testing.conformance import Check, ConformanceError, Example, marshal_checks, numbers, require

__all__ = ["Check", "ConformanceError", "Example", "assert_matches_numpy", "check_marshal", "marshal_checks"]

_RAISED = (FusepyError, ArithmeticError, AttributeError, LookupError, TypeError, ValueError)  # the errors of a broken marshal


def check_marshal(
    marshal: Marshal, examples: Sequence[Example], *, refused: Sequence[Any] = (), same: Any = None, device: Any = None
) -> None:
    """Runs all checks of a marshal and reports all failures.

    Args:
        marshal: registered already for the classes of the examples.
        examples: a few values with their meaning, of different element types, ranks and, if they matter, extents.
        refused: values of these classes that cannot be passed. Each must raise a `FusepyError` with a hint.
        same: a Slang function that returns its argument, for examples of structs: ``T same<T>(T x)`` of their module.
        device: the device that runs the checks; the default device if omitted.

    Raises:
        ConformanceError: if checks fail; the error lists them.

    Example:
        >>> from fusepy.backend.marshals.registry import ListMarshal
        >>> check_marshal(ListMarshal(), [Example([1.0, 2.0], "float", [1.0, 2.0], like=[3.0, 4.0])])
    """
    failures: list[str] = []
    count = 0
    for check in marshal_checks(marshal, examples, refused=refused, same=same, device=device):
        count += 1
        try:
            check()
        except ConformanceError as error:
            failures.append(f"{check}: {error}")
        except _RAISED as error:
            failures.append(f"{check}: {type(error).__name__}: {error}")
    if failures:
        listed = "\n  ".join(line for failure in failures for line in failure.splitlines())
        raise ConformanceError(f"{type(marshal).__name__} fails {len(failures)} of {count} checks:\n  {listed}")


def assert_matches_numpy(
    function: Callable[..., Any], reference: Callable[..., Any], *args: Any, ulps: float = 4, atol: float = 0.0
) -> None:
    """Checks a Slang or fused function against a NumPy function of the same arguments.

    Args:
        reference: takes the arguments as arrays (tensors and lists are converted), and returns the expected result.
        ulps: the largest difference in units in the last place of the result's dtype; ``atol`` is allowed as well.

    Raises:
        AssertionError: if they differ; the error gives the worst position, both numbers there, and the number of differences.

    Example:
        >>> import fusepy as fp
        >>> m = fp.Module.load_from_source(fp.default_device(), "doc_t", "float f(float a, float b) { return a * b; }")
        >>> assert_matches_numpy(m.f, np.multiply, np.ones((2, 1), np.float32), np.arange(3, dtype=np.float32))
    """
    want = np.asarray(reference(*[numbers(a) for a in args]))
    have = numbers(function(*args))
    require(have.shape == want.shape, f"shape {have.shape}, NumPy has {want.shape}")
    if have.dtype.kind != "f":
        wrong = have != want
    else:
        finite = np.isfinite(want)
        step = np.spacing(np.abs(np.where(finite, want, 0).astype(have.dtype))).astype(np.float64)
        with np.errstate(invalid="ignore"):
            near = np.abs(have.astype(np.float64) - want.astype(np.float64)) <= np.maximum(ulps * step, atol)
        equal = (have == want) | (np.isnan(have) & np.isnan(want))
        wrong = ~np.where(finite, near, equal)
    if np.any(wrong):
        gap = np.where(wrong, np.abs(np.subtract(have, want, dtype=np.float64)), -1)
        at = np.unravel_index(int(np.argmax(np.nan_to_num(gap, nan=np.inf))), gap.shape)
        place = f" at {tuple(map(int, at))}" if at else ""
        raise AssertionError(
            f"{int(np.sum(wrong))} of {wrong.size} numbers differ; worst{place}: {have[at]!r}, NumPy has {want[at]!r}"
        )
