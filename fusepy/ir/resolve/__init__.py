"""Overload resolution: operands of a call are matched with the parameters of a Slang function. Also the error messages.

Imports `errors` and the rest of `ir`.
"""
