"""The rest of NumPy's vocabulary, made of the functions of `language`; the methods of tensors and traced values.

Imports `language` and what stands below it.
"""
