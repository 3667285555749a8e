"""Kernels of regions whose threads keep rows: reductions along rows, and what uses them, in one kernel.

Imports what `backend.emit` may import, and `backend.emit`.
"""
