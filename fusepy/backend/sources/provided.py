"""The import of fusepy's array types, for texts that use them and import nothing that has them.

The import is the last line, since Slang takes imports anywhere in a text: the user's lines keep their numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from fusepy.backend.sources.closure import bare, imports, included
from fusepy.backend.sources.libraries import FOLDER
from fusepy.ir.whole import FAMILIES

_LINE = "\n\nimport fusepy; // for its arrays\n"  # the empty line ends a continued one
_INTERFACES = ("IBaseTensor", "ITensor", "IWTensor", "IRWTensor", "IDiffTensor", "IWDiffTensor", "IRWDiffTensor")
_NAME = re.compile(rf"\b(?:{'|'.join([*FAMILIES['fusepy'], *_INTERFACES, 'NDBuffer'])})\b(\s*<)?")
_DECLARES = re.compile(
    r"(?:\b(?:struct|class|interface|enum|typealias|typename|associatedtype|namespace|define|undef)\s+|::\s*|\.\s*)\Z"
)
_EXPORTS = re.compile(r"\b__exported\s+import\s+fusepy\s*;")


def with_arrays(text: str, own_dir: Path | None, dirs: Sequence[str], files: Iterable[str], defines: Iterable[str]) -> str:
    """Returns a text with the import of fusepy's arrays, if it uses one and nothing else gives its name a meaning.

    Args:
        files: the files that it reaches by imports and includes.
        defines: names and values of the defines. One with the name of an array stands for something else.

    Example:
        >>> with_arrays("float f(Tensor<float, 1> a) { return a[0]; }", None, (), (), ()).splitlines()[-1]
        'import fusepy; // for its arrays'
        >>> with_arrays("struct Tensor<T> { T x; } float f(Tensor<float> a) { return a.x; }", None, (), (), ())
        'struct Tensor<T> { T x; } float f(Tensor<float> a) { return a.x; }'
    """
    text = text.removesuffix(_LINE)
    if "Tensor" not in text and "NDBuffer" not in text and "include" not in text:
        return text
    parts = [bare(part) for part in (text, *included(text, own_dir, dirs))]
    if not any(map(_NAME.search, parts)) or any("fusepy.slang" in imports(part)[0] for part in parts):
        return text
    reached = [bare(_read(file)) for file in files if Path(file).parent != FOLDER]
    if any(map(_NAME.search, defines)) or any(_declares(part) or _EXPORTS.search(part) for part in (*parts, *reached)):
        return text
    return text + _LINE


def _declares(text: str) -> bool:
    """True if a text may declare a name of fusepy's arrays: it stands behind a word that declares, or without arguments."""
    found = _NAME.finditer(text)
    return any(m[1] is None or _DECLARES.search(text, max(0, m.start() - 40), m.start()) for m in found)


def _read(file: str) -> str:
    return Path(file).read_text(encoding="utf-8", errors="surrogateescape")
