"""Render graphs: `Graph`, and the wiring of its nodes.

Imports `language`, `functions` and what stands below them; not `modules`.
"""
