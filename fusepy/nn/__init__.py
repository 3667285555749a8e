"""Training: optimisers, training steps that are one program, parameters as files.

Imports `modules`, `language` and above.
"""

from fusepy.nn.optimisers import SGD, Adam, AdamW, Optimiser
from fusepy.nn.parameters import load, named, parameters, save
from fusepy.nn.training import TrainingStep, training_step

__all__ = ["SGD", "Adam", "AdamW", "Optimiser", "TrainingStep", "load", "named", "parameters", "save", "training_step"]
