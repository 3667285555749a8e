"""Parameters and training steps as files in the safetensors format."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from fusepy.errors import ArgumentError, MissingPackageError
from fusepy.nn.parameters import named, parameters
from fusepy.nn.training import TrainingStep

_STEP = "step/"
_COUNT = "step/count"


def save(path: str | os.PathLike[str], tree: Any, step: TrainingStep | None = None) -> None:
    """Writes parameters to a file in the safetensors format, under the names of `named`.

    Args:
        step: a training step, whose count and state of the optimiser are written as well: ``step/count``, ``step/mean/weight``.

    Raises:
        MissingPackageError: without the package ``safetensors``.
        ArgumentError: if the file cannot be written.
    """
    path = _path(path, "save")
    arrays = {name or "value": np.asarray(leaf) for name, leaf in named(tree).items()}
    if not arrays:
        hint = "write fp.nn.save(path, params), with arrays in any structure"
        raise ArgumentError("save: there are no parameters", saw=type(tree).__name__, hint=hint)
    if step is not None:
        arrays |= {name: np.asarray(leaf) for name, leaf in _state(tree, step).items()}
        arrays[_COUNT] = np.array([step.count])
    package = _safetensors()
    try:
        package.numpy.save_file(arrays, path)
    except (OSError, package.SafetensorError) as error:
        hint = "give a path in a folder that exists and can be written to"
        raise ArgumentError(f"save: {path} cannot be written", saw=error, hint=hint) from None


def _path(path: Any, what: str) -> str:
    if not isinstance(path, (str, os.PathLike)):
        hint = f"write fp.nn.{what}(path, params)"
        raise ArgumentError(f"{what}: the first argument is no path of a file", saw=type(path).__name__, hint=hint)
    return os.fspath(path)


def load(path: str | os.PathLike[str], tree: Any, step: TrainingStep | None = None) -> Any:
    """Returns parameters from a file of `save`, as tensors in the structure of `tree`.

    Tensors in `tree` are written to and stay the same objects; other leaves become new tensors.

    Args:
        step: a training step that goes on where the saved one was.

    Raises:
        MissingPackageError: without the package ``safetensors``.
        ArgumentError: if there is no such file, or it has other names or shapes, no training step, or a step of another
            optimiser.
    """
    package, path = _safetensors(), _path(path, "load")
    try:
        found = package.numpy.load_file(path)
    except (OSError, package.SafetensorError) as error:
        hint = "give the path of a file that fp.nn.save has written"
        raise ArgumentError(f"load: {path} cannot be read", saw=error, hint=hint) from None
    arrays = {name: array for name, array in found.items() if step is not None or not name.startswith(_STEP)}
    made = parameters(tree)
    tensors = {name or "value": tensor for name, tensor in named(made).items()}
    if step is not None:
        tensors |= _state(made, step)
    if set(tensors) != set(arrays) - {_COUNT} or (step is not None and _COUNT not in arrays):
        raise ArgumentError(
            f"load: {os.fspath(path)} has other parameters",
            saw=", ".join(sorted(arrays)),
            expected=", ".join(sorted([*tensors, _COUNT] if step is not None else tensors)),
            hint="pass the structure that was saved"
            + ("" if step is None else ", and a step with the same optimiser; without a step only parameters are read"),
        )
    for name, tensor in tensors.items():
        if np.shape(tensor) != arrays[name].shape:
            raise ArgumentError(
                f"load: {name} has another shape",
                saw=arrays[name].shape,
                expected=np.shape(tensor),
                hint="make the parameters as they were made before they were saved",
            )
    for name, tensor in tensors.items():
        tensor.copy_from_numpy(arrays[name])
    if step is not None:
        step.count = int(arrays[_COUNT][0])
    return made


def _state(tree: Any, step: TrainingStep) -> dict[str, Any]:
    """Returns what the optimiser of a step keeps for each parameter, by name."""
    step.start(tree)
    return {
        f"{_STEP}{which}/{name or 'value'}": tensor
        for name, optimiser, tensors in zip(named(tree), step.optimisers, step.state)
        for which, tensor in zip(optimiser.kept, tensors)
    }


def _safetensors() -> Any:
    try:
        import safetensors
        import safetensors.numpy  # pyright: ignore[reportUnusedImport]  # it is an attribute of the package then
    except ImportError:
        raise MissingPackageError(
            "parameters are written and read by the package safetensors, which is not installed", hint="pip install safetensors"
        ) from None
    return safetensors
