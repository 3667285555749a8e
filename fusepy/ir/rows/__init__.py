"""Regions that go along rows, taken apart into stages. Imports what `ir` may import, and `ir`."""
