"""Index spaces: which thread has which elements of the grid.

Imports what `backend.emit` may import, and `backend.emit`.
"""
