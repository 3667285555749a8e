"""Splitting a program into kernels, each of which stores, loads and computes again some of its values.

Imports `errors`, `ir` and what all passes share.
"""
