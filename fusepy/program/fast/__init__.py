"""Fast paths: calls on torch's CUDA tensors that come again, as Python functions of their own.

Imports `program` and what stands below it.
"""
