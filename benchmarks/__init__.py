"""``python -m benchmarks`` (or ``make bench``) measures fusepy beside its peers in one run. See docs/benchmarks.md."""
