"""The exceptions that fusepy raises.

Everything derives from `FusepyError`, and each class also inherits the built-in exception that Python programmers would
expect in its place, so that ``except TypeError`` keeps working::

    FusepyError
    ├── TraceError (TypeError)                  a traced value used as if it were a number
    │   └── LeakedTracerError                   a traced value used after its trace ended
    ├── TraceRecursionError (RecursionError)    a fused function that traces itself
    ├── ResolveError (TypeError)                Slang's answer does not fit the arguments
    │   ├── NoMatchError
    │   ├── AmbiguousCallError
    │   └── UnsupportedArgumentError
    ├── ArgumentError (TypeError)               too many, missing, unknown or doubled arguments
    ├── ShapeError (ValueError)                 extents, ranks, axes, overlaps
    ├── RangeError (OverflowError)              a Python number that its Slang type cannot hold
    ├── UnknownNameError (AttributeError)       no such Slang function, type or field
    ├── InvalidNameError (ValueError)           text that cannot be a name in Slang
    ├── CompileError (RuntimeError)             Slang rejected a source; carries its own words
    ├── GraphError (ValueError)                 a render graph that is built or used wrongly
    │   └── CycleError                          a graph that would contain itself
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
from collections.abc import Iterable
from typing import ClassVar


class FusepyError(Exception):
    """Base of all errors raised by fusepy.

    Args:
        what: one sentence that names the function, the argument's path and what is wrong.
        place: the user's ``file:line`` that is to blame; without a word it is the line whose call made the error.
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
    is_placed: ClassVar[bool] = True  # whether it says where in the user's program it was made, if nobody says more
    below: str = ""  # where inside a nested argument it happened, ``.position.z``, while it travels up to the argument's name

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
        """The message without the place, for who has written no line of Python."""
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
        """Fills in the user's ``file:line`` where nobody has said it yet, and returns the error itself."""
        if self.place is None and place is not None:
            self.place = place
            self.args = (self._render(),)
        return self

    def __str__(self) -> str:
        return self._render()


class TraceError(FusepyError, TypeError):
    """A traced value was used where only a number will do: ``if``, ``float()``, iteration."""


class LeakedTracerError(TraceError):
    """A traced value was used after the trace that made it had ended."""


class TraceRecursionError(FusepyError, RecursionError):
    """A fused function calls itself while it is being traced."""


class ResolveError(FusepyError, TypeError):
    """A Slang function and the arguments of a call could not be brought together."""


class NoMatchError(ResolveError):
    """Slang accepts none of the types that the arguments can offer."""


class AmbiguousCallError(ResolveError):
    """Slang accepts several bindings of equal rank; `vmap` or `vcast` must choose."""


class UnsupportedArgumentError(ResolveError):
    """A Python value of a kind, or a dtype, that has no Slang counterpart on this device."""


class ArgumentError(FusepyError, TypeError):
    """Too many, missing, unknown or doubled arguments."""


class ShapeError(FusepyError, ValueError):
    """Extents, ranks or axes that do not fit together."""


class RangeError(FusepyError, OverflowError):
    """A Python number outside the range of its Slang type."""


class UnknownNameError(FusepyError, AttributeError):
    """A Slang function, type or field that does not exist."""


class InvalidNameError(FusepyError, ValueError):
    """Text that cannot be a name in Slang, and is therefore never pasted into generated code."""


class CompileError(FusepyError, RuntimeError):
    """Slang could not compile a source; the message carries the compiler's own diagnostics."""

    is_placed = False  # remembered, and raised again from other lines; its lines are those of the Slang source


class GraphError(FusepyError, ValueError):
    """A `Graph` that is built or used wrongly: values of two graphs, outputs set twice or never, another number of results."""


class CycleError(GraphError):
    """A graph that is a node of itself, directly or inside another one."""


class GradientError(FusepyError, TypeError):
    """A gradient that Slang cannot compute, or computes wrongly."""


class OutOfDeviceMemory(FusepyError, MemoryError):
    """The device cannot hold an allocation; names what was asked, what is in use and the limit."""


class ExportError(FusepyError, BufferError):
    """Memory of a tensor that cannot be shared with another framework, for where or for how it lies."""


class MissingPackageError(FusepyError, ImportError):
    """An optional package that something needs and that is not installed; the hint says what to install."""


class DeviceError(FusepyError, RuntimeError):
    """No usable device, or a device that cannot do what was asked."""


class DeviceLostError(DeviceError):
    """The device was closed, lost, or inherited through a fork."""


class IRSyntaxError(FusepyError, SyntaxError):
    """Text that is not textual IR; points at the line and column."""

    is_placed = False  # its lines are those of the text


class VerifyError(FusepyError, ValueError):
    """A graph that breaks a rule of its stage."""

    is_placed = False  # it is no line of the user's that is to blame


class CacheWarning(UserWarning):
    """The disk cache could not be used; results are right, start-up is slower."""


class PrecisionWarning(UserWarning):
    """A NumPy array of ``float64`` or ``int64`` is converted, as it is uploaded, to the smaller type that Slang takes."""


class UnrollWarning(UserWarning):
    """A Python loop was unrolled into a very long program; `fori_loop` would record its body once."""


def nearest(name: str, known: Iterable[str], count: int = 3) -> list[str]:
    """The names of `known` most like `name`, best first (Ratcliff-Obershelp similarity).

    Example:
        >>> nearest("tonmap", ["tonemap", "exposure"])
        ['tonemap']
    """
    return difflib.get_close_matches(name, sorted(set(known)), n=count, cutoff=0.5)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A hint that names what is like `name`, or lists what there is.

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
