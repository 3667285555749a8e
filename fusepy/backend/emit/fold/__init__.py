"""Code generation for reductions and scans.

Imports `backend.emit`, and the packages that it may import.
"""
