"""Execution of programs: the launches of a call, their grids and their order.

Imports `errors`, `location`, `ir`, and everything else in `backend`.
"""
