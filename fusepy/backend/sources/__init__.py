"""The text of Slang modules: reading it, following its imports, and analysis without Slang.

Imports `errors` and `ir`.
"""
