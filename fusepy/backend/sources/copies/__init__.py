"""Copies of modules for kernels of gradients. Imports what `backend.sources` may import, and that."""
