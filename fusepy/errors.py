"""The exceptions that fusepy raises.

Everything derives from `FusepyError`, and each class also inherits the built-in exception that Python programmers would
expect in its place, so that ``except TypeError`` keeps working::

    FusepyError
    ├── TraceError (TypeError)                  a traced value used as if it were a number
    │   └── LeakedTracerError                   a traced value used after its trace ended
    ├── TraceRecursionError (RecursionError)    a fused function that traces itself
    ├── ResolveError (TypeError, ValueError)    Slang's answer does not fit the arguments
    │   ├── NoMatchError
    │   ├── AmbiguousCallError
    │   └── UnsupportedArgumentError
    ├── ArgumentError (TypeError, ValueError)   too many, missing, unknown or doubled arguments
    │   └── AssignmentError (AttributeError)    an attribute that is not assigned
    ├── ShapeError (ValueError)                 extents, ranks, axes, overlaps
    │   └── IndexRangeError (IndexError)        an index beyond an extent
    ├── NonFiniteError (FloatingPointError)     a NaN or infinity that `fusepy.debug.check_nan` has found
    ├── RangeError (OverflowError)              a Python number that its Slang type cannot hold
    ├── UnknownNameError (AttributeError)       no such Slang function, type or field
    ├── InvalidNameError (ValueError)           text that cannot be a name in Slang
    ├── CompileError (RuntimeError)             Slang rejected a source; carries its diagnostics
    ├── GraphError (ValueError)                 a render graph that is built or used wrongly
    │   └── CycleError                          a graph that would contain itself
    ├── StudioError (ValueError)                an edit, a file or a message that the studio refuses
    ├── GradientError (TypeError)
    ├── OutOfDeviceMemory (MemoryError)
    ├── ExportError (BufferError)               memory that cannot be shared with another framework
    ├── MissingPackageError (ImportError)       an optional package that is not installed
    ├── DeviceError (RuntimeError)              no usable device
    │   └── DeviceLostError                     used after close, fork or loss
    ├── IRSyntaxError (SyntaxError)             text that is not IR
    └── VerifyError (ValueError)                IR that breaks a rule of its stage

A message has up to five parts, always in this order: where it happened, what was wrong, what was seen, what was expected,
and a hint that says what to do next.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import ClassVar

__all__ = [
    "AmbiguousCallError", "ArgumentError", "AssignmentError", "CacheWarning", "CompileError", "CycleError", "DeviceError",
    "DeviceLostError", "ExportError", "FusepyError", "GradientError", "GraphError", "IRSyntaxError", "IndexRangeError",
    "InvalidNameError", "LeakedTracerError", "MissingPackageError", "NoMatchError", "NonFiniteError", "OutOfDeviceMemory",
    "PrecisionWarning", "RangeError", "ResolveError", "ShapeError", "StudioError", "TraceError", "TraceRecursionError",
    "UnknownNameError", "UnrollWarning", "UnsupportedArgumentError", "VerifyError",
]  # fmt: skip


class FusepyError(Exception):
    """Base of all errors raised by fusepy.

    Args:
        what: one sentence that names the function, the argument's path and what is wrong.
        place: the user's ``file:line`` that caused the error; by default the line of the user's call.
        saw: the offending value, type or shape.
        expected: what would have been accepted.
        hint: what to do next; every error of this package has one.

    Example:
        >>> print(FusepyError("argument 'b' is bad", place="scene.py:3", saw="(4,)", expected="(3,)", hint="slice it"))
        scene.py:3: argument 'b' is bad
          saw:      (4,)
          expected: (3,)
          hint:     slice it
    """

    user_line: ClassVar[staticmethod[[], str | None]] = staticmethod(lambda: None)  # see `fusepy/location.py`, which sets it
    is_placed: ClassVar[bool] = True  # False: without a `place` the message names no line
    below: str = ""  # the path inside a nested argument, ``.position.z``; completed on the way up

    def __init__(self, what: str, *, place: str | None = None, saw: object = None, expected: object = None, hint: str = ""):
        self.what = what
        self.place = place
        self._made = FusepyError.user_line() if place is None and self.is_placed else None
        self.saw = saw
        self.expected = expected
        self.hint = hint
        super().__init__(self._render())

    @property
    def without_place(self) -> str:
        """The message without the place."""
        return self._render(placed=False)

    def _render(self, placed: bool = True) -> str:
        place = (self.place or self._made) if placed else None
        lines = [f"{place}: {self.what}" if place else self.what]
        if self.saw is not None:
            lines.append(f"  saw:      {self.saw}")
        if self.expected is not None:
            lines.append(f"  expected: {self.expected}")
        if self.hint:
            lines.append(f"  hint:     {self.hint}")
        return "\n".join(lines)

    def at(self, place: str | None) -> FusepyError:
        """Sets the place, a ``file:line`` of the user's, unless the error was made with one. Returns the error itself."""
        if self.place is None and place is not None:
            self.place = place
            self.args = (self._render(),)
        return self

    def here(self) -> FusepyError:
        """Sets the place to the line of the user's call, unless a line is known. Returns the error itself."""
        self._made = self._made or FusepyError.user_line()
        self.args = (self._render(),)
        return self

    def __str__(self) -> str:
        return self._render()


class TraceError(FusepyError, TypeError):
    """A traced value used where Python needs a number: ``if``, ``float()``, iteration."""


class LeakedTracerError(TraceError):
    """A traced value used after its trace ended."""


class TraceRecursionError(FusepyError, RecursionError):
    """A fused function that calls itself while it is traced."""


class ResolveError(FusepyError, TypeError, ValueError):
    """A call whose arguments do not fit the Slang function. It is a ValueError too, as slangpy raises."""


class NoMatchError(ResolveError):
    """A call that no overload accepts with the types that the arguments can have."""


class AmbiguousCallError(ResolveError):
    """A call that Slang accepts in several ways of equal rank; `vmap` or `vcast` must choose."""


class UnsupportedArgumentError(ResolveError):
    """A Python value, or a dtype, that has no Slang counterpart on this device."""


class ArgumentError(FusepyError, TypeError, ValueError):
    """Too many, missing, unknown or doubled arguments. It is a ValueError too, as slangpy raises."""


class AssignmentError(ArgumentError, AttributeError):
    """An attribute of a fusepy object that is not assigned or deleted: nothing would follow the new value."""


class ShapeError(FusepyError, ValueError):
    """Extents, ranks or axes that do not fit together."""


class IndexRangeError(ShapeError, IndexError):
    """An index beyond an extent."""


class RangeError(FusepyError, OverflowError):
    """A Python number outside the range of its Slang type."""


class NonFiniteError(FusepyError, FloatingPointError):
    """A NaN or infinity that `fusepy.debug.check_nan` has found.

    Attributes:
        index: the indices of the first such element.
        operands: the values from which it was computed, by name.
    """

    index: tuple[int, ...] = ()
    operands: Mapping[str, object] = MappingProxyType({})


class UnknownNameError(FusepyError, AttributeError):
    """A Slang function, type or field that does not exist."""


class InvalidNameError(FusepyError, ValueError):
    """Text that is not a valid name in Slang. It never reaches generated code."""


class CompileError(FusepyError, RuntimeError):
    """A source that Slang cannot compile; the message has the compiler's diagnostics."""

    is_placed = False  # cached and raised again from other lines of the user's program


class GraphError(FusepyError, ValueError):
    """A `Graph` that is built or used wrongly: values of two graphs, outputs set twice or never, a wrong number of results."""


class CycleError(GraphError):
    """A graph that is a node of itself, directly or inside another one."""


class StudioError(FusepyError, ValueError):
    """An edit of a graph, a file or a message that the studio refuses; its document stays as it was."""

    is_placed = False  # edits come from the page


class GradientError(FusepyError, TypeError):
    """A gradient that Slang cannot compute, or computes wrongly."""


class OutOfDeviceMemory(FusepyError, MemoryError):
    """An allocation that does not fit on the device; the message names its size, the memory in use and the limit."""


class ExportError(FusepyError, BufferError):
    """Memory of a tensor that another framework cannot share, because of its device or its layout."""


class MissingPackageError(FusepyError, ImportError):
    """An optional package that is needed but not installed; the hint says how to install it."""


class DeviceError(FusepyError, RuntimeError):
    """No usable device, or a device that lacks a feature."""


class DeviceLostError(DeviceError):
    """A device that was closed, lost, or inherited through a fork."""


class IRSyntaxError(FusepyError, SyntaxError):
    """Text that is not textual IR; points at the line and column."""

    is_placed = False  # its lines are those of the text


class VerifyError(FusepyError, ValueError):
    """A graph that breaks a rule of its stage."""

    is_placed = False  # no line of the user's is the cause


class CacheWarning(UserWarning):
    """The disk cache cannot be used, or one of its entries is damaged. Results are correct, start-up is slower."""


class PrecisionWarning(UserWarning):
    """A conversion on upload: a NumPy array of ``float64`` or ``int64`` becomes the smaller type that Slang takes."""


class UnrollWarning(UserWarning):
    """A Python loop unrolled into a very long program; `fori_loop` records its body once."""


def nearest(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """Returns the names of `known` most like `name`, best first (Ratcliff-Obershelp similarity).

    Example:
        >>> nearest("tonmap", ["tonemap", "exposure"])
        ['tonemap']
    """
    return difflib.get_close_matches(name, sorted(set(known)), n=count, cutoff=0.5)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """Returns a hint that names the closest of the known names, or lists them.

    Example:
        >>> did_you_mean("tonmap", ["tonemap", "exposure"])
        "did you mean 'tonemap'?"
    """
    names = sorted(set(known))
    near = nearest(name, names)
    if near:
        return "did you mean " + " or ".join(repr(n) for n in near) + "?"
    shown = ", ".join(names[:12]) + (", …" if len(names) > 12 else "")
    return f"known names: {shown}" if names else "there are none"
