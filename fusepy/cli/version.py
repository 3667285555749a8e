"""The version of fusepy that runs."""

from __future__ import annotations

from importlib import metadata


def version() -> str:
    """The version of the installed distribution; says so when fusepy runs from a folder that was never installed."""
    try:
        return metadata.version("fusepy-slang")
    except metadata.PackageNotFoundError:
        return "not installed, running from source"
