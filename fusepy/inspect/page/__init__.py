"""A call as one page of HTML.

Imports what `inspect` may import.
"""
