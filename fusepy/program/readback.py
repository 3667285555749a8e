"""The check of calls that are recorded, and that the user submits later."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from fusepy.backend.marshals.registry import host_array
from fusepy.errors import ArgumentError


def check_recordable(name: str, written: Sequence[Any], result: Any) -> None:
    """Raises `ArgumentError` if a call would have to read a result back: nothing is computed before the user submits.

    Args:
        written: the arguments that the call writes to.
        result: the argument ``_result=``.
    """
    wanted: list[Any] = list(cast("Sequence[Any]", result)) if isinstance(result, (tuple, list)) else [result]
    for given in [*written, *wanted]:
        if host_array(given) is not None:
            raise ArgumentError(
                f"{name}.append_to(): a result cannot be written to a {type(given).__name__} before it is computed",
                saw=f"an array of shape {list(given.shape)} on the host",
                expected="a Tensor",
                hint="pass a Tensor, and read it after you have submitted the encoder",
            )
