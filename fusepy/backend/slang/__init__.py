"""Questions to Slang: sessions, compilation, overloads, layouts, and stored answers.

Imports `errors`, `ir`, and in `backend`: `cache` and `sources`.
"""
