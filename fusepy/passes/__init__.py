"""Rewrites of graphs: pure functions from `Graph` to `Graph`, which `passes.pipeline` runs in order.

Imports `errors` and `ir`.
"""
