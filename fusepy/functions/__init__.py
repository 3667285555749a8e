"""Functions, fused functions and nodes: configured, called and inspected.

Imports `deferred`, `inspect`, `program` and what stands below them.
"""
