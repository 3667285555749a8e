"""`Sink`: where the launches of a call go."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import slangpy as spy


class Sink(Protocol):
    """A queue that runs what it is given, or an encoder that somebody submits later; `fusepy.backend.execute` knows no other.

    Attributes:
        keeps: whether it runs later, so that memory must be handed to `keep`: on a queue all later work runs behind it anyway.
    """

    keeps: bool

    def dispatch(
        self,
        pipeline: spy.ComputePipeline,
        root: spy.ShaderObject,
        groups: Sequence[int],
        beside: bool = False,
        more: bool = False,
    ) -> None:
        """Records one dispatch behind all earlier ones; if it may run `beside` the last one, without a barrier in between.

        Args:
            more: whether further dispatches of the same program follow, so that this one need not be submitted.
        """
        ...

    def copy(self, target: spy.Buffer, to: int, source: spy.Buffer, at: int, nbytes: int) -> None:
        """Records a copy between buffers."""
        ...

    def keep(self, *things: object) -> None:
        """Holds what recorded work uses."""
        ...

    def flush(self) -> Any:
        """Submits what is recorded, where that is not up to the user."""
        ...
