"""Axes of computed values as components: which extents are known, and arrays of numbers as vectors.

Imports what `trace` may import, and of `trace` the files that `trace.trace` imports as well.
"""
