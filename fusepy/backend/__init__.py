"""Everything that touches Slang or a device.

The packages below build on one another in the order of tests/rules/test_layering.py.

Imports `errors`, `location` and `ir`; never `passes`. Only packages in here import slangpy.
"""
