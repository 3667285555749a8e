"""Arrays of a call that kernels read in another place than they lie in. Imports what `backend.execute` may import."""
