"""Derivatives of scans each of whose results follows from the one before: running extremes, and scans by Slang functions.

Imports what `derivatives` imports, and its rules; `rules` and `tangents` call it.
"""
