"""How many examples a random test takes: all of them in ``make test-long``, an eighth in ``make test``."""

from __future__ import annotations

import os

from hypothesis import settings

QUICK = os.environ.get("FUSEPY_HYPOTHESIS", "repeatable") == "repeatable"


def examples(most: int, least: int = 4, **others: object) -> settings:
    """Settings of a random test. At least `least` examples are taken; a test with many parameters asks for fewer of each."""
    return settings(max_examples=min(most, max(most // 8, least)) if QUICK else most, **others)  # type: ignore[arg-type]
