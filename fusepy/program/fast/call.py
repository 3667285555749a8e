"""`FastCallMaker`: makes the Python function of a fast path from a call and its launches."""

from __future__ import annotations

import struct
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from fusepy.backend.device.block import size_class
from fusepy.backend.device.sink import CAPTURED
from fusepy.backend.execute.launch import Make
from fusepy.backend.execute.tape import LinkedTape
from fusepy.backend.memory.pending import PENDING, RECORDER
from fusepy.backend.torch import need_torch, place_of, span_of, torch_dtype
from fusepy.errors import FusepyError
from fusepy.ir.strides import contiguous_strides
from fusepy.program.fast.text import FastLaunch, FastText
from fusepy.program.program import Program
from fusepy.pytree import LEAF

FastCall = Callable[[Sequence[Any], Any], Any]


class FastCallMaker:
    """Makes the fast path of a call.

    Args:
        targets: its destinations, if there are any, in `asked`.
    """

    def __init__(self, program: Program, args: Sequence[Any], targets: Sequence[Any], asked: Any, linked: LinkedTape):
        self._program, self._args, self._asked, self._linked = program, args, asked, linked
        given = dict(linked.tape.given)
        self._given = {given[j]: y for j, y in enumerate(targets)}  # by slot
        self._tensors = {i: args[i] for i in linked.tensors}
        self._places = {slot: place_of(t) or (None, 0) for slot, t in (*self._tensors.items(), *self._given.items())}
        self._outputs = {slot: j for j, (slot, _) in enumerate(linked.tape.owner.outputs)}
        self.names: dict[str, Any] = {}

    def call(self) -> FastCall:
        """Returns the function."""
        launches = [self._launch(n) for n in range(len(self._linked.rows))]
        checks = dict(self._program.inputs.checks)
        text = FastText(
            count=len(self._args),
            tensors=[*self._tensors],
            integers=[i for i, v in enumerate(self._args) if v.__class__ is int],
            checks=[*checks],
            given=[*self._given],
            strided=[slot for slot, (strides, _) in self._places.items() if strides is not None],
            odd=[slot for slot, (_, bits) in self._places.items() if bits],
            alone=any(y is self._asked for y in self._given.values()),
            onto=[(s, i) for s, y in self._given.items() for i, x in self._tensors.items() if same_memory(x, y)],
            launches=launches,
            returned=self._returned(),
        )
        self._name_values()
        self.names |= {f"check_{i}": check for i, check in checks.items()}
        exec(_compiled(str(text)), self.names)
        return self.names.pop("call")

    def _launch(self, n: int) -> FastLaunch:
        """Returns one launch, and names its kernel, its parameter block and the unchanging parts of the block."""
        row, reads = self._linked.rows[n], self._linked.reads
        function, groups = row.kernel.apart(row.elements, row.groups)
        launch = function.launcher(groups, self._program.device.queue.stream)
        self.names |= {f"pack_{n}": row.kernel.packer.pack_into, f"block_{n}": function.block, f"launch_{n}": launch}
        self.names[f"kernel_{n}"] = function  # keeps its memory
        fields = [f"c{n}_{i}" for i in range(len(row.values))]
        self.names |= dict(zip(fields, row.values))
        for i, slot, offset in row.addresses:
            fields[i] = f"p{slot} + {offset}" if offset else f"p{slot}"
        for i, k in row.numbers:
            slot, read = reads[k]
            fields[i] = f"x{slot}" if read is None else f"read_{k}(x{slot})"
            self.names[f"read_{k}"] = read
        for make in row.makes:
            self._name_made(make)
        return FastLaunch([*row.frees], [make.slot for make in row.makes], fields)

    def _name_made(self, make: Make) -> None:
        """Names the shape and dtype of a new tensor: a result, or memory between launches."""
        slot, j, elements = make.slot, self._outputs.get(make.slot), self._program.elements
        if j is None:
            shape, dtype = (size_class(make.nbytes),), need_torch().uint8
        else:
            shape, dtype = self._linked.tape.out_shapes[j] + elements[j].shape, torch_dtype(elements[j])
        self.names |= {f"shape_t{slot}": tuple(shape), f"strides_t{slot}": tuple(contiguous_strides(tuple(shape)))}
        self.names[f"dtype_t{slot}"] = dtype

    def _returned(self) -> str:
        """Returns the expression for the result of a call."""
        structure = self._program.recording.structure
        leaves = ", ".join(f"{'y' if slot in self._given else 't'}{slot}" for slot in self._outputs)
        if structure is LEAF:
            return leaves
        self.names["fill"] = structure.fill
        return f"({leaves},)" if structure.cls is tuple and structure.flat else f"fill(({leaves},))"

    def _name_values(self) -> None:
        """Names what the checks compare with, and the functions that the text calls."""
        device, torch = self._program.device, need_torch()
        self.names |= {f"class_x{i}": v.__class__ for i, v in enumerate(self._args)}
        tensors = [(i, f"x{i}", x) for i, x in self._tensors.items()] + [(i, f"y{i}", y) for i, y in self._given.items()]
        for slot, name, t in tensors:
            self.names |= {f"class_{name}": t.__class__, f"shape_{name}": t.shape, f"dtype_{name}": t.dtype}
            self.names[f"nbytes_{name}"] = span_of(t)
            self.names[f"strides_{name}"], self.names[f"bits_{slot}"] = self._places[slot]
        where = next(iter(self._tensors.values())).device
        self.names |= {"class_result": self._asked.__class__, "where": where, "device": device, "queue": device.queue}
        self.names |= {"lock": device.lock, "counters": device.counters, "enter": device.raw.set_cuda_context_current}
        self.names |= {"stream": self._program.follows, "at": device.queue.stream, "is_grad_enabled": torch.is_grad_enabled}
        self.names |= {"recorder": RECORDER.get, "captured": CAPTURED.get, "pending": PENDING}
        self.names |= {"empty": torch.empty_strided, "bump": torch.autograd.graph.increment_version}
        # a tensor without memory, and an inference tensor outside of inference mode; a number that does not fit
        self.names["unusual"] = (RuntimeError, FusepyError, struct.error, OverflowError, TypeError)


def same_memory(x: Any, y: Any) -> bool:
    """True if two tensors of torch have the same elements in the same places."""
    return x.data_ptr() == y.data_ptr() and x.shape == y.shape and x.stride() == y.stride() and x.itemsize == y.itemsize


@lru_cache(maxsize=256)
def _compiled(text: str) -> Any:
    """Returns the code of a text; calls with other shapes share it."""
    return compile(text, "<fast path>", "exec")
