"""Training: optimisers, training steps that are one program, networks, encodings, parameters as files.

Imports `modules`, `language` and above.
"""

from typing import NoReturn

from fusepy.elsewhere import OF_NN, no_name
from fusepy.nn.activations import exp, gelu, leaky_relu, relu, sigmoid, silu, sine, softplus, tanh
from fusepy.nn.encodings import FrequencyEncoding, HashGrid
from fusepy.nn.files import load, save
from fusepy.nn.mlp import MLP
from fusepy.nn.optimisers import SGD, Adam, AdamW, Optimiser
from fusepy.nn.parameters import named, parameters
from fusepy.nn.training import TrainingStep, training_step

__all__ = [
    "MLP", "SGD", "Adam", "AdamW", "FrequencyEncoding", "HashGrid", "Optimiser", "TrainingStep", "exp", "gelu",
    "leaky_relu", "load", "named", "parameters", "relu", "save", "sigmoid", "silu", "sine", "softplus", "tanh",
    "training_step",
]  # fmt: skip


def __getattr__(name: str) -> NoReturn:
    raise no_name(name, OF_NN, __name__)


def __dir__() -> list[str]:
    """Lists the public names."""
    return sorted(__all__)
