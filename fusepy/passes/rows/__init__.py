"""Kernels of rows: regions that reduce the same rows, and those that use what is reduced, joined into one.

Imports `errors`, `ir`, what all passes share, and `partition`.
"""
