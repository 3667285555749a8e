"""Arguments of a call: `vmap` and `vcast`, nested values, and the cache key of a call.

Imports `errors`, `location`, `ir` and `backend`.
"""
