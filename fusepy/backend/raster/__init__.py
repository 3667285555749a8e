"""Draws: their state, the text of their stages, their pipeline and its images, and their plans.

Imports what `backend.execute` may import, and `backend.execute`.
"""
