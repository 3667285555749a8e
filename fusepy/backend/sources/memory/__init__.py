"""Memory that functions read and write, from the text of their modules.

Imports what `backend.sources` imports, and its files.
"""
