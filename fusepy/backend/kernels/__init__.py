"""Compiled kernels: from Slang text to a pipeline with its parameter block, globals and resources.

Imports `errors`, `location`, `ir`, and in `backend`: `marshals` and the packages below it.
"""
