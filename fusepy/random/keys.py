"""Keys of random numbers, made from seeds and from other keys."""

from __future__ import annotations

import operator
from typing import Any

from fusepy.backend.device.device import Device
from fusepy.backend.sources.libraries import FOLDER
from fusepy.errors import ArgumentError, RangeError
from fusepy.functions.fused import FusedFunction
from fusepy.language.constructors import CONSTRUCTORS
from fusepy.language.movement.graph_calls import node_of_values, of_parts
from fusepy.modules.libraries import library
from fusepy.modules.module import Module
from fusepy.trace.trace import current_trace
from fusepy.trace.traced import Traced
from fusepy.vocabulary.arithmetic import typed

_WORD = 0xFFFFFFFF
_SPLITS, _FOLDS = 0, 1  # the purpose of a derived key: keys of `split` differ from those of `fold_in`
_UINT2: Any = CONSTRUCTORS["uint2"]


def module_on(device: Device) -> Module:
    """Returns the module of random numbers on a device."""
    return library(device, "random", lambda d: Module.load_from_file(d, str(FOLDER / "fusepy_random.slang")))


def key(seed: int) -> Any:
    """Returns the key of a seed.

    Args:
        seed: an integer of 64 bits.

    Raises:
        RangeError: if it has more bits.
        ArgumentError: for anything but an integer.

    Example:
        >>> import fusepy as fp
        >>> key = fp.random.key(7)
        >>> fp.random.uniform(key, 2).tolist() == fp.random.uniform(key, 3).tolist()[:2]
        True
    """
    try:
        number = operator.index(seed)
    except TypeError:
        raise ArgumentError("key: a seed is an integer", saw=repr(seed)[:60], hint="write fp.random.key(7)") from None
    if not -(1 << 63) <= number < 1 << 64:
        raise RangeError("key: a seed has 64 bits", saw=number, hint="take it modulo 2**64")
    return _UINT2(number & _WORD, (number >> 32) & _WORD)


def _count(key: Any, n: Any = 2) -> int:
    return n


@of_parts(_count)
@node_of_values
def split(key: Any, n: Any = 2) -> tuple[Any, ...]:
    """Returns `n` keys, independent of each other and of `key`; do not draw from `key` afterwards.

    Raises:
        ArgumentError: for a negative number, or one that is not known while a function is traced.

    Example:
        >>> import fusepy as fp
        >>> a, b = fp.random.split(fp.random.key(0))
        >>> a == b
        False
    """
    if not isinstance(n, int) or n < 0:
        hint = "pass a number; for a key per element write fp.random.fold_in(key, fp.arange(n))"
        raise ArgumentError("split: `n` is no number of keys", saw=repr(n)[:60], hint=hint)
    return tuple(_derived(key, i, _SPLITS) for i in range(n))


@node_of_values
def fold_in(key: Any, data: Any) -> Any:
    """Returns the key made from `key` and an integer, such as the number of a step; for an array one key for each element.

    Example:
        >>> import fusepy as fp
        >>> keys = fp.random.fold_in(fp.random.key(0), fp.arange(1000))
        >>> str(keys.dtype), fp.random.uniform(keys).shape
        ('uint2', (1000,))
    """
    return _derived(key, data, _FOLDS)


def _derived(key: Any, data: Any, purpose: int) -> Any:
    if isinstance(key, _UINT2) and isinstance(data, int):
        words = philox((data & _WORD, (data >> 32) & _WORD, purpose, 0x80000000), (key.x, key.y))
        return _UINT2(*words[:2])
    return derive(key, data, purpose)


def _derive(key: Any, data: Any, purpose: Any) -> Any:
    trace = current_trace()
    assert trace is not None
    return module_on(trace.device).random_key(key, typed(data, "int64_t"), typed(purpose, "uint"))


_run = FusedFunction(_derive)


def derive(key: Any, data: Any, purpose: int) -> Any:
    """Derives keys on the device, from arrays and traced values."""
    if current_trace() is None and not isinstance(key, Traced):
        return _run(key, data, purpose, _result="tensor")
    return _derive(key, data, purpose)


def philox(counter: tuple[int, ...], key: tuple[int, int]) -> tuple[int, ...]:
    """Returns four random words for four, as ``philox`` of ``fusepy/slang/fusepy_random.slang`` does.

    Example:
        >>> [hex(word) for word in philox((0, 0, 0, 0), (0, 0))]
        ['0x6627e8d5', '0xe169c58d', '0xbc57ac4c', '0x9b00dbd8']
    """
    x, y, z, w = counter
    low, high = key
    for _ in range(10):
        a, b = x * 0xD2511F53, z * 0xCD9E8D57
        x, y, z, w = (b >> 32) ^ y ^ low, b & _WORD, (a >> 32) ^ w ^ high, a & _WORD
        low, high = (low + 0x9E3779B9) & _WORD, (high + 0xBB67AE85) & _WORD
    return x, y, z, w
