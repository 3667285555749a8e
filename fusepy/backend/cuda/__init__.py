"""The CUDA driver: contexts, launches of compiled kernels, and the order of streams.

Imports `errors`.
"""
