"""The format of an entry's file in the disk cache.

Its layout, little-endian and without padding::

    magic "FUSEPYC\\0" | SHA-256 of the rest | u32 version | u64 key size | u64 JSON size | u64 payload size
    full key echo | JSON {"header": ..., "blobs": [[name, size], ...]} | the blobs, one after the other

A file that is cut short, changed, of another version or of another key gives no entry. There is no pickle: reading runs no code.
"""

from __future__ import annotations

import hashlib
import json
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

_MAGIC = b"FUSEPYC\0"
_VERSION = 1
_NUMBERS = struct.Struct("<IQQQ")
_DIGEST_BYTES = 32


@dataclass(frozen=True, slots=True)
class Entry:
    """The data of a key: `header` is JSON data, `payload` maps names to bytes."""

    header: dict[str, Any]
    payload: Mapping[str, bytes]


def pack(key: bytes, entry: Entry) -> list[bytes]:
    """Returns the parts of an entry's file, in order."""
    blobs = list(entry.payload.values())
    sizes = [[name, len(blob)] for name, blob in entry.payload.items()]
    text = json.dumps({"header": entry.header, "blobs": sizes}, separators=(",", ":")).encode()
    numbers = _NUMBERS.pack(_VERSION, len(key), len(text), sum(map(len, blobs)))
    digest = hashlib.sha256()
    for part in (numbers, key, text, *blobs):
        digest.update(part)
    return [_MAGIC, digest.digest(), numbers, key, text, *blobs]


def intact(data: bytes) -> bool:
    """True if a file's bytes are as `pack` of this or another version wrote them, for any key."""
    hashed = memoryview(data)[len(_MAGIC) + _DIGEST_BYTES :]
    return len(hashed) >= _NUMBERS.size and data.startswith(_MAGIC + hashlib.sha256(hashed).digest())


def unpack(data: bytes, key: bytes) -> Entry | None:
    """Returns the entry in a file's bytes, or None unless they are as `pack` wrote them for this key."""
    if not intact(data):
        return None
    hashed = memoryview(data)[len(_MAGIC) + _DIGEST_BYTES :]
    version, key_size, text_size, payload_size = _NUMBERS.unpack_from(hashed)
    rest = bytes(hashed[_NUMBERS.size :])
    start = key_size + text_size
    if version != _VERSION or rest[:key_size] != key or len(rest) != start + payload_size:
        return None
    payload: dict[str, bytes] = {}
    try:
        described = json.loads(rest[key_size:start])
        for name, size in described["blobs"]:
            payload[name] = rest[start : start + size]
            start += size
        header: Any = described["header"]
        return Entry(cast("dict[str, Any]", header), payload) if isinstance(header, dict) else None
    except (ValueError, LookupError, TypeError):  # another layout whose version was not changed
        return None


def sealed(data: dict[str, Any]) -> dict[str, Any]:
    """Returns a header that holds `data` and a digest of it, for `unsealed`."""
    return {"data": data, "seal": _seal(data)}


def unsealed(header: dict[str, Any]) -> Any:
    """Returns the data that `sealed` was given, or None for any other header. Readers can trust each part of it."""
    data: Any = header.get("data")
    if not isinstance(data, dict) or header.get("seal") != _seal(cast("dict[str, Any]", data)):
        return None
    return cast("dict[str, Any]", data)


def _seal(data: dict[str, Any]) -> str:
    return hashlib.sha256(f"fusepy {_VERSION} {json.dumps(data, sort_keys=True)}".encode()).hexdigest()
