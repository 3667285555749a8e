"""Prints of traced functions: `fusepy.debug.print` in a trace, and the text after the call.

Imports `arguments`, and files of `trace` that do not import `trace.trace`.
"""
