"""NumPy's functions that move elements.

Imports what `language` imports.
"""

from fusepy.language.movement import extents as _extents
from fusepy.language.movement import indices as _indices
from fusepy.language.movement import joins as _joins
from fusepy.language.movement import views as _views
from fusepy.language.movement.extents import *  # noqa: F403
from fusepy.language.movement.indices import *  # noqa: F403
from fusepy.language.movement.joins import *  # noqa: F403
from fusepy.language.movement.views import *  # noqa: F403

__all__: list[str] = []
__all__ += _extents.__all__
__all__ += _indices.__all__
__all__ += _joins.__all__
__all__ += _views.__all__
