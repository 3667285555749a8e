"""Matching the operands of a call with the parameters of a Slang function, and the messages where they do not match.

Imports `errors` and the rest of `ir`.
"""
