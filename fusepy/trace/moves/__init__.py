"""Movement of elements in a trace: shapes, views, reshapes and gathers of traced values.

Imports what `trace` imports.
"""
