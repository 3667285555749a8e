"""`Arrival`: the ways in which inputs of a graph reach a kernel."""

from __future__ import annotations

from dataclasses import dataclass

from fusepy.ir.types import TEXTURE_RANKS


@dataclass(frozen=True, eq=False)
class Arrival:
    """One way in which an input reaches a kernel. There is one object for each name; its flags describe it.

    Attributes:
        name: its name in textual IR.
        plain: one Python number, or a computed value.
        literal: a number of the program; no input.
        word: an integer of 64 bits that is computed of numbers of 32 bits: it converts to these as they do.
        named: a vector or matrix that the program makes of Python numbers: its type stays, and its components are numbers again.
        tensor, listed, paired: an array in memory: of elements; of Python numbers, whose type follows Slang's
            answer; with its gradient.
        grid: the coordinates of a grid of its own.
        coordinates: integers, one per dimension of a grid; the last dimension comes first in a vector.
        generated: computed from the position of a thread in its grid. Without extents of its own such a value has rank 0, and
        follows the grid in which it is used.
        open: a generated value that Slang may take as a scalar or as a vector of any length.
        texels, cube: a texture; one that is read by directions.
        raw: a buffer of the graphics layer, whose element type is not known.
        handle: a bindless handle.
        uniform: one vector or matrix for all threads.
        missing: ``None``, for an ``Optional``.
    """

    name: str
    plain: bool = False
    literal: bool = False
    word: bool = False
    named: bool = False
    tensor: bool = False
    listed: bool = False
    paired: bool = False
    grid: bool = False
    coordinates: bool = False
    generated: bool = False
    open: bool = False
    texels: bool = False
    cube: bool = False
    raw: bool = False
    handle: bool = False
    uniform: bool = False
    missing: bool = False

    @property
    def array(self) -> bool:
        """True for an array in memory that has no gradient."""
        return self.tensor or self.listed

    @property
    def memory(self) -> bool:
        """True for an array in memory."""
        return self.array or self.paired

    @property
    def single(self) -> bool:
        """True for one vector or matrix of single numbers, that is passed or made by the program."""
        return self.named or self.uniform

    @property
    def computed(self) -> bool:
        """True for values that a kernel computes from a few numbers of the call."""
        return self.placed or self.name == "Linspace"

    @property
    def placed(self) -> bool:
        """True for a value computed from the position of a thread, without memory."""
        return self.coordinates or self.generated


PLAIN = Arrival("", plain=True)
LITERAL = Arrival("", plain=True, literal=True)
WORD = Arrival("", plain=True, word=True)
NAMED = Arrival("", plain=True, named=True)
TENSOR = Arrival("Tensor", tensor=True)
LIST = Arrival("List", listed=True)
GRID = Arrival("Grid", grid=True, coordinates=True)
UNIFORM = Arrival("Uniform", uniform=True)
BUFFER, HANDLE, OPAQUE = "Buffer", "Handle", "Resource"  # names, see `ir.resources`
_GENERATORS = ("CallId", "ThreadId", "WangHash", "RandFloat")
_ALL = (
    PLAIN,
    TENSOR,
    LIST,
    Arrival("Pair", paired=True),
    GRID,
    Arrival("Linspace"),
    UNIFORM,
    Arrival("None", missing=True),
    *(Arrival(name, generated=True, open=True, coordinates=name == "CallId") for name in _GENERATORS),
    *(Arrival(f"{name}1", generated=True, coordinates=name == "CallId") for name in _GENERATORS),  # scalars
    *(Arrival(f"Texture{shape}", texels=True, cube="Cube" in shape) for shape in TEXTURE_RANKS),
    Arrival(BUFFER, raw=True),
    Arrival(HANDLE, handle=True),
    Arrival(OPAQUE),
)
ARRIVALS = {one.name: one for one in _ALL}
CONTAINERS = tuple(filter(None, ARRIVALS))  # the names that textual IR knows


def arrival_named(name: str) -> Arrival:
    """Returns the arrival of a name. An unknown name gives one without flags, which `ir.rules` refuses."""
    return ARRIVALS.get(name) or Arrival(name)
