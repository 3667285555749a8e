"""The version of the running fusepy."""

from __future__ import annotations

from importlib import metadata


def version() -> str:
    """Returns the version of the installed distribution, or a note if fusepy was never installed."""
    try:
        return metadata.version("fusepy-slang")
    except metadata.PackageNotFoundError:
        return "not installed, running from source"
