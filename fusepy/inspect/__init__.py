"""Explaining, measuring and drawing calls.

Imports `program` and what stands below it.
"""
