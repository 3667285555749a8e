"""``vjp``: the gradient of a body by Slang's reverse mode; and the operations on gradients of structs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from fusepy.errors import VerifyError
from fusepy.ir.graph import Node, Op, Value
from fusepy.ir.ops.base import computed
from fusepy.ir.ops.control import Control, Run, Writer, grid_rank, loaded
from fusepy.ir.ops.exact import first_size
from fusepy.ir.oracle import Oracle
from fusepy.ir.resources import SAMPLER, graded, is_sampled
from fusepy.ir.types import Type
from fusepy.ir.value import Array, declare
from fusepy.ir.whole import has_gradients


class Product(Control):
    """The base of ``vjp`` and ``jvp``: products with the derivative of the body ``primal``; ``types`` are of the results."""

    bodies = ("primal",)

    def infer(self, node: Node, oracle: Oracle | None) -> list[Value]:
        rank = grid_rank(node)
        return [computed(node, Type.parse(name), rank=rank) for name in node.words("types")]

    def verify(self, node: Node) -> str | None:
        wrong = Op.verify(self, node)
        if wrong is not None:
            return wrong
        if [body.name for body in node.bodies] != list(self.bodies):
            return f"{self.name} has the body primal"
        wrong = self.verify_places(node)
        if wrong is not None:
            return wrong
        differ = [v for v, type in zip(node.bodies[0].inputs, loaded(node)) if v.type is not type]
        return f"body @primal: input %{differ[0].name} is not what is loaded for it" if differ else None

    def verify_places(self, node: Node) -> str | None:
        """Returns an error in the numbers of operands and results, or in those of inputs and outputs; or ``None``."""
        raise NotImplementedError

    def meaning(self, node: Node, args: Sequence[Array], grid: tuple[int, ...], run: Run) -> list[Array]:
        what = f"a {self.name} has no meaning in NumPy"
        raise VerifyError(what, hint="compare with differences of the function that it is made from")


class Vjp(Product):
    """The vector-Jacobian product of the body ``primal``: the gradients of some of its inputs.

    The operands are the inputs of the body, then one gradient for each output in ``seeds``. The results are the gradients of the
    inputs in ``wrt``, of the types in ``types``. The other inputs are constants, apart from those in ``arrays``: whole arrays,
    for each of which the last operands have an array to which its gradients are added, for a texture one for each mip level;
    ``words`` has the kinds of the words of these gradients, see `derivatives.scatter`, and ``channels`` how many numbers an
    element has. Inputs in ``graded`` are passed with their gradients, see `ir.resources`; for samplers, which are in
    ``settings``, an operand more has the settings. With ``sums`` the arrays hold exact sums of so many words for each element,
    see `ops.exact`.

    In a kernel the body becomes a differentiable function, and the node a call of Slang's ``bwd_diff`` of it, so that user
    functions, their loops and their own derivatives are Slang's business.
    """

    name = "vjp"
    needs = {"wrt": (tuple,), "seeds": (tuple,), "types": (tuple,)}

    def verify_places(self, node: Node) -> str | None:
        body, count, wrt, seeds = node.bodies[0], len(node.operands), numbers(node, "wrt"), numbers(node, "seeds")
        whole = arrays(node)
        settings = optional(node, "settings")
        if count != len(body.inputs) + len(seeds) + len(whole) + len(settings):
            given = f"{len(seeds)} gradients, {len(whole)} arrays and {len(settings)} settings"
            return f"{count} operands for {len(body.inputs)} inputs, {given}"
        if not (wrt or whole) or max((*wrt, *whole)) >= len(body.inputs) or not seeds or max(seeds) >= len(body.outputs):
            return "wrt and arrays name inputs of the body, and seeds its outputs; at least one of each"
        return None if len(node.words("types")) == len(wrt) else "types has one type for each input in wrt"

    def label(self, node: Node, j: int) -> str:
        return f"d_{node.bodies[0].inputs[numbers(node, 'wrt')[j]].name or ''}"

    def statements(self, node: Node, args: Sequence[str], results: Sequence[str], write: Writer) -> list[str]:
        body, wrt = node.bodies[0], numbers(node, "wrt")
        whole, settings, first = arrays(node), optional(node, "settings"), len(body.inputs) + len(numbers(node, "seeds"))
        stands = {i: str(graded(body.inputs[i].type)) for i in optional(node, "graded")}
        function = write.differentiable(body, wrt, numbers(node, "seeds"), stands)
        lines: list[str] = []
        passed, into = list(args[:first]), dict(zip(whole, args[first:]))
        set_to = dict(zip(settings, args[first + len(whole) :]))
        channels, kinds = (dict(zip(whole, node.words(key) if whole else ())) for key in ("channels", "words"))
        sums = dict(zip(whole, optional(node, "sums")))
        for i, stand in stands.items():
            passed[i] = write.fresh("graded")
            second = f"uint({set_to[i]})" if body.inputs[i].type is SAMPLER else "{}"
            lines.append(f"{stand} {passed[i]} = {{ {args[i]}, {second} }};")
            own = [array for place, array in zip(whole, args[first:]) if place == i]
            for level, array in enumerate(own):
                part = f"levels[{level}]" if is_sampled(body.inputs[i].type) else "gradients"
                lines.append(f"{passed[i]}.{part} = _gradients_in({array}, {channels[i]});")
        for i in (i for i in whole if i not in stands):
            type, passed[i] = body.inputs[i].type, write.fresh("array")
            lines.append(f"{declare(type, passed[i])} = {args[i]};")
            if has_gradients(type):
                lines.append(f"{passed[i]}._grad_out = {'{}' if i in sums else into[i]};")
                if i not in sums:
                    continue
            exact = f"uint2({sums[i]}, {first_size(type, kinds[i])})" if i in sums else "0"
            place = f"uint64_t({into[i]}._data), {into[i]}._strides, {into[i]}._offset, uint4({kinds[i]}), {exact}"
            lines.append(f"{passed[i]}{'._primal' if has_gradients(type) else ''}._gradients_to({place});")
        for i in wrt:
            type = body.inputs[i].type
            passed[i] = write.fresh("pair")
            lines.append(f"DifferentialPair<{type}> {passed[i]} = diffPair({args[i]});")
        lines.append(f"bwd_diff({function})({', '.join(passed)});")
        return [*lines, *(f"{declare(v.type, name)} = {passed[i]}.d;" for v, name, i in zip(node.results, results, wrt))]


class Zero(Op):
    """The gradient zero of a struct, array or number of type ``of``; ``type`` is the type of the gradient."""

    name = "zero_gradient"
    arity = 0
    needs = {"of": (str,), "type": (str,)}

    def infer(self, node: Node, oracle: Oracle | None) -> list[Value]:
        return [Value(Type.parse(node.text("type")), ())]

    def emit(self, node: Node, args: Sequence[str], results: Sequence[str]) -> list[str]:
        return [f"{declare(node.results[0].type, results[0])} = {node.text('of')}.dzero();"]


class Sum(Op):
    """The sum of two gradients of a struct of type ``of``."""

    name = "add_gradients"
    arity = 2
    needs = {"of": (str,)}

    def infer(self, node: Node, oracle: Oracle | None) -> list[Value]:
        return [computed(node, node.operands[0].type)]

    def expression(self, node: Node, args: Sequence[str]) -> str:
        return f"{node.text('of')}.dadd({args[0]}, {args[1]})"


class FieldGradient(Op):
    """The gradient of a struct of type ``of`` whose field ``name`` has the gradient of the operand, and all others zero."""

    name = "field_gradient"
    arity = 1
    needs = {"of": (str,), "type": (str,), "name": (str,)}

    def infer(self, node: Node, oracle: Oracle | None) -> list[Value]:
        return [computed(node, Type.parse(node.text("type")))]

    def emit(self, node: Node, args: Sequence[str], results: Sequence[str]) -> list[str]:
        made = f"{declare(node.results[0].type, results[0])} = {node.text('of')}.dzero();"
        return [made, f"{results[0]}.{node.text('name')} = {args[0]};"]


def numbers(node: Node, key: str) -> tuple[int, ...]:
    """Returns an attribute that is a tuple of numbers, written as strings."""
    return tuple(map(int, node.words(key)))


def optional(node: Node, key: str) -> tuple[int, ...]:
    """Returns an attribute like `numbers`; none if the node does not have it."""
    return numbers(node, key) if key in node.attrs else ()


def arrays(node: Node) -> tuple[int, ...]:
    """Returns the inputs of the body of a ``vjp`` whose gradients are added to arrays."""
    return optional(node, "arrays")


def exported(nodes: Iterable[Node]) -> list[str]:
    """Returns the exports that tell Slang what these nodes add to.

    ``_FusepyAdds``: gradients are added at all, whose code takes Slang as long as the rest of a kernel. ``_fusepy_added``: 1 for
    halfs and 2 for doubles in structs, 4 for exact sums. ``_fusepy_levels``: the mip levels of textures.
    """
    added, levels = 0, 1
    adding = [node for node in nodes if "words" in node.attrs]
    for node in adding:
        levels = max(levels, *Counter(arrays(node)).values())
        for given in node.words("words"):
            digits = "".join(f"{int(number):x}" for number in given.split(","))
            added |= bool(set(digits) & {"1", "2"}) | 2 * ("3" in digits) | 4 * ("sums" in node.attrs)
    found = {"_fusepy_added": (added, 0), "_fusepy_levels": (levels, 1)}
    adds = ["export struct _FusepyAdds : _IFusepyAdds = _FusepyAdded;"] * bool(adding)
    return [*adds, *(f"export static const int {name} = {value};" for name, (value, usual) in found.items() if value != usual)]


GRADIENT_OPS: list[Op] = [Vjp(), Zero(), Sum(), FieldGradient()]
