"""Debugging: values that fused functions print, and arrays as pictures.

Imports `modules`, `language` and above.
"""

from fusepy.debug.printing import print

__all__ = ["print"]


def __dir__() -> list[str]:
    """Lists the public names."""
    return sorted(__all__)
