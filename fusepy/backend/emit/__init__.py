"""Writing regions of a graph as Slang text; it needs no device.

Imports `errors`, `location`, `ir`, and in `backend`: `memory` and what stands below it.
"""
