"""Debugging: values that fused functions print, the first NaN of a call, and arrays as pictures.

Imports `modules`, `language` and above.
"""

from fusepy.debug.nan import check_nan
from fusepy.debug.printing import print

__all__ = ["check_nan", "print"]


def __dir__() -> list[str]:
    """Lists the public names."""
    return sorted(__all__)
