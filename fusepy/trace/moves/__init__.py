"""Movement of elements in a trace: shapes, views, reshapes and gathers of traced values."""

from __future__ import annotations
