"""Kinds of arguments and results: *marshals*, one for each Python class; *accesses*, with which kernels load the placed values.

`registry` has the tables of both.

Imports `errors`, `location`, `ir`, and in `backend`: `emit` and the packages below it.
"""
