"""Products of matrices on GPUs: a group computes a tile of the result, through shared memory.

Imports what `backend.emit.fold` may import, and that.
"""
