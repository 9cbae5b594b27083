"""Sparse models from logs of clicks and ratings, in memory or in files, and what they are trained with.

train() and Model are the short way; Job and Store keep parameters for a training loop of your own; Group
combines vectors among ranks. thalweg.sklearn has estimators, thalweg.torch what goes with PyTorch.
"""

import importlib.metadata

from ._errors import DeadlineError, Error, InputError, IoError, JobError, MissingError
from ._group import Group, Work
from ._job import Job, Store, Table
from ._model import Model
from ._train import TrainEpoch, TrainProgress, TrainResult, train

__version__ = importlib.metadata.version("thalweg")
__all__ = ["DeadlineError", "Error", "Group", "InputError", "IoError", "Job", "JobError", "MissingError", "Model", "Store",
           "Table", "TrainEpoch", "TrainProgress", "TrainResult", "Work", "train"]
