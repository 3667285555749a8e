"""Acceleration structures of the graphics layer: built, refitted and kept alive in the order of the device's queue.

Imports `backend.memory` and above.
"""
