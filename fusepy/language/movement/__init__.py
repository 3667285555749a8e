"""NumPy's functions that move elements.

Imports what `language` imports.
"""
