"""Writing reductions and scans as Slang text.

Imports what `backend.emit` may import, and `backend.emit`.
"""
