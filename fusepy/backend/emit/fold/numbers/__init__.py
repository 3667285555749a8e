"""Numbers of accumulators: floats as integers in order, and squared distances in one pass.

Imports `ir`.
"""
