"""The bits of Python's numbers: floats that are computed and compared as doubles.

Imports `ir` and what all passes share.
"""
