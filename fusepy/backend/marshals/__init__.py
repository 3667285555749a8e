"""Kinds of arguments and results: *marshals*, one for each Python class; *accesses*, by which kernels load what these place.

`registry` has the tables of both.

Imports `errors`, `location`, `ir`, and in `backend`: `emit` and the packages below it.
"""
