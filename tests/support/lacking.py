"""What GPUs lack, in the words of fusepy's errors: programs of documents that need it are skipped there."""

from __future__ import annotations

LACKS = (
    "has no ray tracing",
    "cannot rasterise",
    "textures on CUDA lack mip levels",
    "CUDA has no textures of three components",
)


def lacking(error: object) -> bool:
    """True if a program failed for what the device lacks, which lavapipe has."""
    return any(words in str(error) for words in LACKS)
