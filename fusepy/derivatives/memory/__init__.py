"""Elements of memory in derivatives: what is read again, and one element of each row.

Imports what `derivatives` imports, and its rules; `forward` and `reverse` call it.
"""
