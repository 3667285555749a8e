"""slangpy's own tests, as its wheel ships them, run with fusepy: `make compat`."""
