"""Callables: Slang functions, fused functions and nodes, which are configured, called and inspected.

Imports `deferred`, `inspect`, `program` and what stands below them.
"""
