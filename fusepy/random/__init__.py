"""Random numbers as functions of a key, as in JAX: the same key gives the same numbers in eager, fused and lazy calls.

A key is a `uint2`. `key` makes one from a seed; `split` and `fold_in` make others from it. Draw from each key once. The number
at an index of the result depends on the key and that index only.

Imports `modules`, `vocabulary` and above.
"""

from typing import NoReturn

from fusepy.elsewhere import OF_RANDOM, no_name
from fusepy.random.draws import bernoulli, bits, integers, normal, permutation, uniform
from fusepy.random.keys import fold_in, key, split

__all__ = ["bernoulli", "bits", "fold_in", "integers", "key", "normal", "permutation", "split", "uniform"]


def __getattr__(name: str) -> NoReturn:
    raise no_name(name, OF_RANDOM, __name__)


def __dir__() -> list[str]:
    """Lists the public names."""
    return sorted(__all__)
