"""Asking Slang: sessions, compilation, overloads, layouts, and the answers that are kept.

Imports `errors`, `ir`, and in `backend`: `cache` and `sources`.
"""
