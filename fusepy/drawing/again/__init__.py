"""Draws that come again: calls like an earlier one go to its program, or to its launch.

Imports `functions` and what stands below it, and `drawing.arguments`.
"""
