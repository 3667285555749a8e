"""Code generation: regions of a graph as Slang text. It needs no device.

Imports `errors`, `location`, `ir`, and in `backend`: `memory` and the packages below it.
"""
