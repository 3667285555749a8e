"""The text of Slang modules: reading it, following its imports, and what can be told from it without Slang.

Imports `errors` and `ir`.
"""
