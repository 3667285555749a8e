"""Helpers of several tests: Slang functions with their meaning in NumPy, random graphs, references. No tests are in here."""
