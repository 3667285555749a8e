"""Functions that users call inside traced functions: math, reductions, loops, generators.

Imports `functions` and what stands below it.
"""
