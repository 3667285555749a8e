"""Debugging: pictures of arrays.

Imports `modules`, `language` and above.
"""
