"""`MLP`: a network of linear layers over whole arrays of samples."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np

from fusepy.arguments.mapping import vmap
from fusepy.backend.device.device import Device
from fusepy.backend.memory.tensor import Tensor
from fusepy.backend.sealed import Sealed
from fusepy.errors import ArgumentError, RangeError, ShapeError
from fusepy.functions.fused import FusedFunction
from fusepy.language.math import matmul
from fusepy.nn.activations import activation_of, leaky_relu, relu, silu
from fusepy.nn.checks import check_input, check_seed
from fusepy.nn.parameters import parameters as tensors_of
from fusepy.trace.traced import Traced

_DTYPES = {"float": np.float32, "half": np.float16, "double": np.float64}


def dense(x: Any, weight: Any, bias: Any) -> Any:
    """Returns ``x W^T + b`` of traced values: x of (…, in) numbers, W of (out, in), b of (out,)."""
    return matmul(x, vmap(weight, (1, 0))) + bias


class MLP(Sealed):
    """A network of linear layers, with an activation between them, on arrays of samples.

    Args:
        widths: the numbers of inputs, of each hidden layer, and of outputs.
        activation: a name such as ``"relu"``, or a function, behind each layer but the last.
        output: likewise behind the last layer; by default nothing.
        dtype: ``"float"``, ``"half"`` or ``"double"``. Sums of halfs are in float.
        seed: for the first parameters.

    Raises:
        ArgumentError: for an unknown activation or dtype.
        RangeError: for widths that are no positive integers, or fewer than two.

    Example:
        >>> import fusepy as fp, numpy as np
        >>> net = fp.nn.MLP(2, 16, 1, activation="tanh")
        >>> params = net.parameters()
        >>> list(params), net(params, np.zeros((5, 2), np.float32)).shape
        (['weight_0', 'bias_0', 'weight_1', 'bias_1'], (5, 1))
    """

    _assigning = {"": "make another one: fp.nn.MLP(2, 16, 1, activation='relu'); its numbers are net.parameters()"}

    __slots__ = ("_activation", "_dtype", "_output", "_run", "seed", "widths")

    def __init__(
        self,
        *widths: int,
        activation: str | Callable[[Any], Any] = "relu",
        output: str | Callable[[Any], Any] | None = None,
        dtype: str = "float",
        seed: int = 0,
    ):
        if len(widths) < 2 or any(not isinstance(cast("object", n), (int, np.integer)) or n < 1 for n in widths):
            raise RangeError(
                "an MLP has at least two widths, all positive integers",
                saw=widths,
                hint="fp.nn.MLP(32, 64, 8) has 32 inputs, 64 hidden numbers and 8 outputs",
            )
        if dtype not in _DTYPES:
            raise ArgumentError("no dtype of an MLP", saw=repr(dtype)[:60], expected=", ".join(_DTYPES), hint="pass one of these")
        check_seed(seed, "MLP")
        self.widths = widths
        self.seed = seed
        self._activation = activation_of(activation, "MLP")
        self._output = activation_of(output, "MLP")
        self._dtype = _DTYPES[dtype]
        self._run = FusedFunction(self._layers)

    @property
    def names(self) -> list[str]:
        """The names of the parameters, in order."""
        return [f"{part}_{i}" for i in range(len(self.widths) - 1) for part in ("weight", "bias")]

    def parameters(self, device: Device | None = None) -> dict[str, Tensor]:
        """Returns fresh parameters by name: ``"weight_0"`` of (out, in) numbers, ``"bias_0"`` of (out,), and so on.

        Weights are normal: of variance ``2 / in`` before relu, leaky_relu, silu and gelu (He et al., 2015), else
        ``2 / (in + out)`` (Glorot and Bengio, 2010). Biases are 0. Equal seeds give equal parameters.
        """
        rng, made = np.random.default_rng(self.seed), dict[str, np.ndarray]()
        for i, (n, k) in enumerate(zip(self.widths, self.widths[1:])):
            behind = self._output if i == len(self.widths) - 2 else self._activation
            variance = 2 / n if behind in (relu, leaky_relu, silu, activation_of("gelu", "MLP")) else 2 / (n + k)
            made[f"weight_{i}"] = rng.normal(0, np.sqrt(variance), (k, n)).astype(self._dtype)
            made[f"bias_{i}"] = np.zeros(k, self._dtype)
        return {name: tensors_of(array, device) for name, array in made.items()}

    def __call__(self, parameters: Mapping[str, Any], x: Any = None) -> Any:
        """Returns the outputs (…, out) for inputs x (…, in).

        Raises:
            ArgumentError: for other parameters than those of this network.
            ShapeError: for inputs or parameters of another width, where extents are known: outside of fused functions.
        """
        if not isinstance(cast("object", parameters), Mapping) or set(parameters) != set(self.names):
            raise ArgumentError(
                "these are not the parameters of this network",
                saw=", ".join(parameters) if isinstance(cast("object", parameters), Mapping) else type(parameters).__name__,
                expected=", ".join(self.names),
                hint="params = net.parameters(), and net(params, x)",
            )
        check_input(x, "this network")
        self._check(x, self.widths[:1], "x")
        for i, (n, k) in enumerate(zip(self.widths, self.widths[1:])):
            self._check(parameters[f"weight_{i}"], (k, n), f"weight_{i}")
            self._check(parameters[f"bias_{i}"], (k,), f"bias_{i}")
        return self._run(dict(parameters), x)

    def _check(self, value: Any, trailing: tuple[int, ...], name: str) -> None:
        shape: tuple[int, ...] = () if isinstance(value, (int, float)) else getattr(value, "shape", trailing)
        if not isinstance(value, Traced) and tuple(shape[-len(trailing) :]) != trailing:
            raise ShapeError(
                f"{name} of this network has another width",
                saw=shape,
                expected=f"(…, {', '.join(map(str, trailing))})",
                hint=f"the widths of this network are {self.widths}",
            )

    def _layers(self, parameters: Any, x: Any) -> Any:
        """Returns the outputs of traced values."""
        last = len(self.widths) - 2
        for i in range(last + 1):
            x = dense(x, parameters[f"weight_{i}"], parameters[f"bias_{i}"])
            behind = self._output if i == last else self._activation
            x = x if behind is None else behind(x)
        return x

    def __repr__(self) -> str:
        return f"MLP({', '.join(map(str, self.widths))})"
