"""A fuzzer: random programs as data, run in every way that there is and held to their meaning in NumPy.

``python -m tests.fuzz --seconds 60 --seed 1 --jobs 2``; see docs/reliability.md.
"""
