"""`print`: values of traced values, once the call has run."""

from __future__ import annotations

import builtins
from typing import Any

from fusepy.arguments.mapped import Mapped, unmapped
from fusepy.pytree import flatten
from fusepy.symbolic import Symbolic, misplaced
from fusepy.trace.prints.log import rendered
from fusepy.trace.prints.request import check_format, request_print
from fusepy.trace.trace import current_trace

__all__ = ["print"]


def print(text: str, /, *args: Any, **kwargs: Any) -> None:
    """Prints values. In a fused function it prints them each time that a call has run, in the order of the program.

    The kernels store traced values as further results, without kernels of their own where the grid is the same. Other values are
    those of the trace, as for Python's ``print``. Outside of fused functions it prints at once. Gradients print what the function
    computes once; the backward pass of torch, ``vjp`` and ``bwds`` prints nothing.

    Args:
        text: a format, as of ``str.format``: ``{}``, ``{name}``, and specifications such as ``{:.3f}``, used for each number
            of an array. Arrays are shown as by NumPy, long ones in short.
        args: a value for each ``{}``: also tuples, lists and dicts of values.
        kwargs: a value for each ``{name}``.

    Raises:
        ArgumentError: for a format that does not fit its values, and by `append_to`, since such a call runs later.
        TraceError: in the body of a loop or branch.

    Example:
        >>> import fusepy as fp
        >>> @fp.fuse
        ... def root(x):
        ...     y = fp.sqrt(x)
        ...     fp.debug.print("y = {}, {largest:.2f} at most", y, largest=fp.max(y))
        ...     return y + 1
        >>> root([4.0, 9.0])
        y = [2. 3.], 3.00 at most
        [3.0, 4.0]
    """
    trace = current_trace()
    if trace is not None:
        request_print(trace, text, args, kwargs)
        return
    leaves, _ = flatten((args, kwargs), lambda value: isinstance(value, Mapped))
    for leaf in map(unmapped, leaves):
        if isinstance(leaf, Symbolic):
            raise misplaced(leaf)
    check_format(text, args, kwargs)
    builtins.print(rendered(text, args, kwargs))
