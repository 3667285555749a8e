"""Tracing: a Python function is run with values that record its operations as a graph.

Imports `errors`, `location`, `ir`, `backend` and `arguments`.
"""
