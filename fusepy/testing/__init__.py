"""Checks for authors of extensions: a conformance suite for marshals, and comparison with NumPy.

Imports everything but `cli`.
"""

from fusepy.testing.check import Check, ConformanceError, Example, assert_matches_numpy, check_marshal, marshal_checks

__all__ = ["Check", "ConformanceError", "Example", "assert_matches_numpy", "check_marshal", "marshal_checks"]


def __dir__() -> list[str]:
    """Lists the public names."""
    return sorted(__all__)
