"""One open device: its queue, memory pool, transfers and counters.

Imports `errors`, `ir`, and in `backend`: `cache`, `sources` and `slang`.
"""
