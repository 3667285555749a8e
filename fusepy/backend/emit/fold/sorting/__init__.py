"""Kernels that sort: groups sort blocks of elements, then others merge them. Imports what `backend.emit.fold` may import."""
