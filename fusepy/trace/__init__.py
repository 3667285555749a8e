"""Tracing: running a Python function with values that record what is done with them as a graph.

Imports `errors`, `location`, `ir`, `backend` and `arguments`.
"""
