"""Which kernels a program becomes, and which values each of them stores, loads or computes again.

Imports `errors`, `ir` and what all passes share.
"""
