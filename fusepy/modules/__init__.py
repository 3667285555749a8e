"""Slang modules in Python: `Module`, namespaces, types, structs, hot reload.

Imports `language`, `functions` and what stands below them; not `graphs`.
"""
