"""Values that are not computed yet, where Python needs numbers."""

from __future__ import annotations

import math
from typing import Any

import pytest

import fusepy as fp
from tests.support.slang_functions import ramp


@pytest.mark.parametrize(
    "f",
    [
        lambda x, k: sum(x for _ in range(k)),
        lambda x, k: x[:k],
        lambda x, k: x.reshape(k, -1),
        lambda x, k: fp.topk(x, k)[0],
        lambda x, k: x if k else -x,
        lambda x, k: fp.linspace(0, 1, k),
        lambda x, k: fp.pad(x, k),
        lambda x, k: x * math.sqrt(k),
        lambda x, k: fp.sum(x, axis=k),
    ],
)
def test_a_number_that_is_needed_in_python_is_named_in_static(f: Any) -> None:
    x = ramp(3, 3)
    with pytest.raises(fp.FusepyError, match=r'fp\.fuse\(f, static=\["k"\]\): then k stays a Python value'):
        fp.fuse(f)(x, 1)
    fp.fuse(f, static=["k"])(x, 1)
