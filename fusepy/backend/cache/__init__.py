"""The disk cache: files that survive a process.

Imports `errors`.
"""
