"""Memory that derivatives read again.

Imports what `derivatives` imports, and its rules; `forward` and `reverse` call it.
"""
