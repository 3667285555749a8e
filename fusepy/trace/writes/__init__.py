"""Writes in a trace: results that go back to arguments, and assignments to values that share memory call by call.

Imports what `trace` may import, and `trace`.
"""
