"""The loops of kernels that scan. Imports what `backend.emit.fold` may import, and that."""
