"""Words of elements of one or two bytes, which a thread of a GPU loads and stores together; and the index space of such kernels.

NVIDIA's GPUs move 4 bytes a thread as fast as 2, so the number of loads counts: a sum of two arrays of 2^26 halfs takes 108 µs on
an H200 (CUDA) element by element, and 96 in pairs, and one of bytes 73 and 51 (decision 002).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fusepy.backend.emit.effects import may_write
from fusepy.backend.emit.intrinsics import unhidden
from fusepy.backend.emit.operand import BLOCK, Operand, convert, from_storage, storage, to_storage
from fusepy.backend.emit.spaces.linear import Counted
from fusepy.backend.emit.spaces.space import ElementWork
from fusepy.backend.emit.store import Store, ToMemory, guarded
from fusepy.backend.emit.text import KernelText
from fusepy.backend.emit.tuning import GROUPS_PER_ROW, LIGHT_PRICE, Shape
from fusepy.backend.emit.variant import Variant
from fusepy.ir.ops.base import construct
from fusepy.ir.ops.control import block
from fusepy.ir.types import HALF, Kind, Type

THREADS = 256
BYTES = 4  # of a word of the smallest elements
MOST_HELD = 128  # bytes that a thread loads and stores: more take the registers of other threads
ALONG = 4  # elements of a word of reductions and rows, whose threads have many: as many as a vector has

BITS = Type.parse("uint16_t")
# The elements of a word, and the words of a thread, which are in flight together.
WORDS = {f"words of {n}{more}": (n, count) for n in (2, 4) for more, count in (("", 2), (", four", 4))}


def words_for(types: Iterable[Type], price: float = 0.0, light: bool = False, count: int = 0) -> str:
    """Returns the name of the words for elements of these types along the grid; empty if each should be loaded by itself.

    Args:
        price: the price of user code for one element.
        light: the body is a few operations.
        count: the elements of a word; 0 if the smallest ones take four bytes together.
    """
    types = list(types)
    sizes = [size_of(type) for type in types if type.kind is Kind.SCALAR]
    if price > LIGHT_PRICE or not sizes or len(sizes) < len(types) or not min(sizes) < BYTES >= max(sizes):
        return ""
    count = count or BYTES // min(sizes)
    if 2 * count * sum(sizes) > MOST_HELD:
        return ""
    return f"words of {count}" + ", four" * (light and count * max(sizes) <= BYTES and len(types) <= 4)


def count_of(space: str) -> int:
    """Returns the elements of a word of an index space of this name; 1 for others."""
    return WORDS[space][0] if space in WORDS else 1


def in_words(number: str, count: int) -> str:
    """Returns the expression of a number of elements as one of words of `count`."""
    return f"{number} / {count}" if count > 1 else number


def word_mask(space: str, type: Type) -> int:
    """Returns the bits that must be zero in the address of the first element, for an index space of any name."""
    return count_of(space) * size_of(type) - 1 if space in WORDS and type.kind is Kind.SCALAR else 0


def words_shape(space: str) -> Shape | None:
    """Returns the thread shape of words of this name; ``None`` for other index spaces."""
    return Shape(THREADS, math.prod(WORDS[space]), True) if space in WORDS else None


def size_of(type: Type) -> int:
    """Returns the bytes of a number in memory."""
    dtype = storage(type).dtype
    assert dtype is not None
    return dtype.itemsize


def word_type(type: Type, count: int) -> Type:
    """Returns the type of a word of numbers in memory. CUDA would load four halfs as two pairs, so they are taken as integers."""
    return Type.vector(BITS if _as_bits(type, count) else storage(type), count)


def _as_bits(type: Type, count: int) -> bool:
    return type is HALF and count == 4


def load_word(place: str, type: Type, count: int) -> str:
    """Returns an expression for the word at an address: a pointer plus one number, since GPUs take no negative steps."""
    return f"loadAligned<{count * size_of(type)}>(({word_type(type, count)}*)({place}))"


def store_word(place: str, type: Type, values: Sequence[str]) -> str:
    """Returns the statement that stores numbers from an address on."""
    word = word_type(type, len(values))
    bits = "asuint16({})" if _as_bits(type, len(values)) else "{}"
    stored = construct(word, [bits.format(to_storage(value, type)) for value in values])
    return f"storeAligned<{len(values) * size_of(type)}>(({word}*)({place}), {stored});"


def store_words(store: Store, values: Sequence[str]) -> str:
    """Returns the statement with which a store in memory stores neighbours, from the element on whose place its lines read."""
    assert isinstance(store, ToMemory)
    return guarded(store.conditions, store_word(f"{store.pointer} + ({store.offset})", store.output.type, values))


def of_word(element: str, operand: Operand, count: int) -> str:
    """Returns the value that the body reads of an element of a word of `count`."""
    number = f"asfloat16({element})" if _as_bits(operand.have, count) else from_storage(element, operand.have)
    return convert(number, operand.have, operand.want)


def operands_in_words(text: KernelText) -> list[Operand]:
    """Returns the operands that are loaded in words: those that are one number for each element, in memory."""
    found, linear = list[Operand](), Variant(True, text.variant.rank)
    for o in text.loaded:
        fields = text.given.accesses[o.arrival].fields(o, linear)
        if o.dims and [f.role for f in fields] == ["pointer"] and o.want.kind is Kind.SCALAR:
            found.append(o)
    return found


@dataclass(frozen=True, kw_only=True)
class WordSpace(Counted):
    """Elements by their number: `count` neighbours a word. The words of one thread lie a group apart.

    Each array begins where a word may, so a last word that is cut ends before the next such place: its load touches no other
    page. What it holds past the end is never used, and nothing is written there.
    """

    count: int

    @property
    def _apart(self) -> int:
        """The distance between two words of a thread, in elements."""
        return self.shape.threads * self.count

    def lines(self, work: ElementWork) -> list[str]:
        index, count, steps = self._index, self.count, self.shape.per_thread
        group = f"{index}(fz_group.y * {GROUPS_PER_ROW} + fz_group.x)"
        arrays = [*(declared for declared, _, _ in work.loads), *work.outputs]
        guard = f"if (first + k / {count} * {self._apart} + k % {count} < {BLOCK}.count) " * may_write(work.text.region)
        lines = [
            *work.before(),
            f"{index} first = {group} * {self.shape.per_group} + fz_lane * {count};",
            *(f"{declared}[{steps}];" for declared in arrays),
            *self._each_word(work, self._load(work)),
            f"{work.text.unroll} for (uint k = 0; k < {steps}; ++k)",
            f"    {guard}{work.call('{}[k]'.format)}",
            *self._each_word(work, self._store(work)),
        ]
        return unhidden(lines, work.text.given.taken, work.text.shims)

    def _each_word(self, work: ElementWork, lines: Sequence[str]) -> list[str]:
        """Returns a loop over the words of a thread, from the element ``at`` on."""
        at = f"{self._index} at = first + w * {self._apart};"
        return [f"{work.text.unroll} for (uint w = 0; w < {self.shape.per_thread // self.count}; ++w)", *block([at, *lines])]

    def _load(self, work: ElementWork) -> list[str]:
        """Returns statements that load one word, or the last one in place of one past the end."""
        together = {f"a_{o.name}": o for o in operands_in_words(work.text)}
        lines = [f"{self._index} start = {work.nearest('at', f'({BLOCK}.count - 1) / {self.count} * {self.count}')};"]
        for name, operand in together.items():
            word, loaded = word_type(operand.have, self.count), load_word(f"{BLOCK}.{name} + start", operand.have, self.count)
            lines.append(f"{word} w_{name} = {loaded};")
        for c in range(self.count):
            # past the end, compute with the first element: user code never sees a value that is not in the data
            place = f"start + {c} < {BLOCK}.count ? {{}} : {{}}".format if c else "{}".format
            apart = [f"{name}[w * {self.count} + {c}] = {value};" for _, name, value in work.loads if name not in together]
            if apart:
                lines += block([f"{self._index} i = {place(f'start + {c}', 'start')};", *self._coordinates(work), *apart])
            for name, o in together.items():
                lines.append(
                    f"{name}[w * {self.count} + {c}] = {of_word(place(f'w_{name}[{c}]', f'w_{name}[0]'), o, self.count)};"
                )
        return lines

    def _store(self, work: ElementWork) -> list[str]:
        """Returns statements that store the results of one word, or of the elements that there are of it."""
        whole, parts = list[str](), list[str]()
        for j, type in enumerate(work.text.types):
            values = [f"r_{j}[w * {self.count} + {c}]" for c in range(self.count)]
            whole.append(store_word(f"{BLOCK}.r_{j} + at", type, values))
        for c in range(self.count):
            one = [f"{self._index} i = at + {c};", *work.store(lambda name, c=c: f"{name}[w * {self.count} + {c}]")]
            parts += [f"if (at + {c} < {BLOCK}.count)", *block(one)]
        return [f"if (at + {self.count} <= {BLOCK}.count)", *block(whole), "else", *block(parts)]
