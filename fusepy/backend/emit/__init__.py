"""Code generation: regions of a graph as Slang text. It needs no device.

`region` has the table of index spaces (which thread has which elements), `stores` that of stores (how a result is written).

Imports `errors`, `location`, `ir`, and in `backend`: `memory` and the packages below it.
"""
