"""Arguments of a call: `vmap` and `vcast`, nested values, and the key under which a program is found.

Imports `errors`, `location`, `ir` and `backend`.
"""
