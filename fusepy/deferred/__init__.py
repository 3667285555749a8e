"""Deferred calls (`fusepy.lazy`): recorded, joined, and run when a result is needed.

Imports `program`, `inspect` and what stands below them.
"""
