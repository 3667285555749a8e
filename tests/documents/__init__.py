"""Programs that are written down elsewhere and must run as they are: README.md, docs/, examples/, the seed of fusepy."""
