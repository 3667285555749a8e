"""Partition of a program into kernels, and the choice of values that are stored, loaded and computed again.

Imports `errors`, `ir` and what all passes share.
"""
