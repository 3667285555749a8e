"""Running kernels: which ones a program needs, over which grid, in which order.

Imports `errors`, `location`, `ir`, and everything else in `backend`.
"""
