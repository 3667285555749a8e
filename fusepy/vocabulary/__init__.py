"""The rest of NumPy's functions, made of those of `language`; the methods of tensors and traced values.

Imports `language` and what stands below it.
"""

from fusepy.vocabulary import arithmetic as _arithmetic
from fusepy.vocabulary import compositions as _compositions
from fusepy.vocabulary import creation as _creation
from fusepy.vocabulary import formulas as _formulas
from fusepy.vocabulary import matrices as _matrices
from fusepy.vocabulary import methods as _methods  # noqa: F401  # pyright: ignore[reportUnusedImport]  # it adds them
from fusepy.vocabulary import names as _names
from fusepy.vocabulary import neighbours as _neighbours
from fusepy.vocabulary import products as _products
from fusepy.vocabulary import quantiles as _quantiles
from fusepy.vocabulary import ramps as _ramps
from fusepy.vocabulary import sorting as _sorting
from fusepy.vocabulary import special as _special
from fusepy.vocabulary import statistics as _statistics
from fusepy.vocabulary.arithmetic import *  # noqa: F403
from fusepy.vocabulary.compositions import *  # noqa: F403
from fusepy.vocabulary.creation import *  # noqa: F403
from fusepy.vocabulary.formulas import *  # noqa: F403
from fusepy.vocabulary.matrices import *  # noqa: F403
from fusepy.vocabulary.names import *  # noqa: F403
from fusepy.vocabulary.neighbours import *  # noqa: F403
from fusepy.vocabulary.products import *  # noqa: F403
from fusepy.vocabulary.quantiles import *  # noqa: F403
from fusepy.vocabulary.ramps import *  # noqa: F403
from fusepy.vocabulary.sorting import *  # noqa: F403
from fusepy.vocabulary.special import *  # noqa: F403
from fusepy.vocabulary.statistics import *  # noqa: F403

__all__: list[str] = []
__all__ += _arithmetic.__all__
__all__ += _compositions.__all__
__all__ += _creation.__all__
__all__ += _formulas.__all__
__all__ += _matrices.__all__
__all__ += _names.__all__
__all__ += _neighbours.__all__
__all__ += _products.__all__
__all__ += _quantiles.__all__
__all__ += _ramps.__all__
__all__ += _sorting.__all__
__all__ += _special.__all__
__all__ += _statistics.__all__
