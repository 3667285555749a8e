"""Kinds of arguments and results: one file for each Python type, and the registry of them.

Imports `errors`, `location`, `ir`, and in `backend`: `emit` and the packages below it.
"""
