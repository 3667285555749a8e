"""The types of the variables that functions hand to the next stage of a pipeline, from the text: reflection has none of them."""

from __future__ import annotations

import re

from fusepy.backend.sources.closure import bare
from fusepy.backend.sources.reachable import reached_from, texts_of
from fusepy.backend.sources.source import ModuleSource

_LAST = re.compile(r"(\w+)\s*\Z")
_OWNER = re.compile(r"\b(\w+)\s*\([^;{}()]*(?:\([^()]*\)[^;{}()]*)*\)\s*(?::\s*\w+\s*)?\{")


def handed_over(name: str, source: ModuleSource, call: str) -> set[str]:
    """Returns the types of the variables that `name` and the functions that it calls pass as the last argument of `call`."""
    texts = [bare(text) for text in texts_of([source])]
    reached = {name.rpartition("::")[2], *reached_from([name], texts)}
    found: set[str] = set()
    for text in texts:
        for match in re.finditer(rf"\b{call}\s*(?:<[^;(]*>)?\s*\(([^;]*)\)\s*;", text):
            variable = _LAST.search(match[1])
            before = text[: match.start()]
            owner = [o for o in _OWNER.findall(before) if o not in ("if", "for", "while", "switch")]
            if variable is None or not owner or owner[-1] not in reached:
                continue
            declared = re.findall(rf"\b([A-Za-z_][\w:]*)\s+{variable[1]}\s*[=;,)]", before)
            found |= {type for type in declared[-1:] if type not in ("return", "inout", "out", "in")}
    return found
