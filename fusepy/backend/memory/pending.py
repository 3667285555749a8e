"""Which calls are recorded and have not run yet (see `lazy`), and running them before anybody overwrites what they read.

Everything that writes memory asks here first, so that a recorded call sees its arguments as they were when it was written down.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol, cast

import numpy as np

if TYPE_CHECKING:
    from fusepy.backend.memory.storage import Storage


class Waiting(Protocol):
    """A recorded call, as far as those need it who write memory."""

    def reads(self, tensor: Storage) -> bool:
        """Whether it reads memory of `tensor`."""
        ...

    def run(self) -> None:
        """Runs it with what is connected to it, unless that has happened."""
        ...


# what a call is given to instead of running, inside of `lazy`
RECORDER: ContextVar[Callable[..., Any] | None] = ContextVar("fusepy_lazy", default=None)
# calls that somebody still wants a result of, in the order in which they were recorded; who drops the results drops the call
PENDING: dict[weakref.ref[Any], None] = {}


def waiting() -> list[Any]:
    """The recorded calls of all threads, in order."""
    return [call for reference in list(PENDING) if (call := reference()) is not None]


def before_write(tensor: Storage) -> None:
    """Runs the recorded calls that read memory of `tensor`, which is about to be written or handed out."""
    for call in waiting():
        if call.reads(tensor):
            call.run()


def before_effects() -> None:
    """Runs all recorded calls, before something that may write anything."""
    for call in waiting():
        call.run()


def before_results(written: Iterable[Any]) -> None:
    """Runs the recorded calls that read what a call is going to write: tensors, arrays, or what else receives results."""
    for target in written:
        if isinstance(target, (tuple, list)):
            before_results(cast("Sequence[Any]", target))
        elif hasattr(target, "address"):
            before_write(target)
        elif target is not None and not isinstance(target, np.ndarray):  # may share memory with any tensor
            before_effects()
