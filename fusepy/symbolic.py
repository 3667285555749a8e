"""What every file may know of tracing: whether a Python function is being traced."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Any

TRACING: ContextVar[Any] = ContextVar("fusepy_trace", default=None)  # the `Trace` of the fused function that runs now
