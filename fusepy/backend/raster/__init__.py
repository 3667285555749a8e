"""Draws: their state, the text of their stages, their pipeline and its images, and their place in a program.

Imports what `backend.execute` may import, and `backend.execute`.
"""
