"""Arrays in device memory: elements, tensors, views, textures, and memory shared with other frameworks.

Imports `errors`, `location`, `ir`, and in `backend`: `device` and what stands below it.
"""
