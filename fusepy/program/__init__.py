"""Compiled programs: from a traced graph through the passes to kernels, and from a call to its results.

Imports `trace` and what stands below it. It is where `passes` and `backend` meet, beside `inspect`.
"""
