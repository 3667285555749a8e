"""The studio: graphs that are built by hand in the browser. `fusepy studio` starts it.

Imports everything below `cli`.
"""
