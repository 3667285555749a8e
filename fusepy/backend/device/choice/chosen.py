"""The device of calls whose destination alone says where they run."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

from fusepy.backend.device.device import Device

CHOSEN: ContextVar[Device | None] = ContextVar("fusepy_chosen_device", default=None)


@contextmanager
def default_on(device: Device) -> Generator[None, None, None]:
    """Makes another device the default one for a while, in this thread or task."""
    token = CHOSEN.set(device)
    try:
        yield
    finally:
        CHOSEN.reset(token)
