"""The words a job may use without naming a module: what the other packages' tables offer, known without torch."""

from __future__ import annotations

import re

MODELS = ("linear", "mlp", "resnet", "wide_resnet", "fbnet", "transformer")
DATA = ("digits", "fashion_mnist", "arrays", "text")
TASKS = ("classification", "regression", "language_modelling")
STRATEGIES = ("synchronous", "local_sgd")
LAYOUTS = ("replicated",)
ENGINES = ("inline", "local")
METRICS = ("loss", "accuracy", "perplexity")
PRECISIONS = ("fp32", "bf16", "fp16")

# What a metric of ours is by nature; for any other the job has to say it.
HIGHER_IS_BETTER = {"loss": False, "accuracy": True, "perplexity": False}
DEFAULT_METRICS = {"classification": ("accuracy",), "regression": (), "language_modelling": ("perplexity",)}
STRATEGY_ARGUMENTS: dict[str, tuple[str, ...]] = {"synchronous": (), "local_sgd": ("interval",)}

# Any class of torch.optim is allowed by name; these are offered by editors and in corrections.
OPTIMIZERS = (
    "SGD",
    "Adam",
    "AdamW",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adamax",
    "ASGD",
    "NAdam",
    "RAdam",
    "RMSprop",
    "Rprop",
)
SCHEDULES = (
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LinearLR",
    "MultiStepLR",
    "OneCycleLR",
    "PolynomialLR",
    "StepLR",
)

MODULE_ATTRIBUTE = r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*"
CLASS_NAME = r"[A-Z]\w*"
_MODULE_ATTRIBUTE = re.compile(MODULE_ATTRIBUTE, re.ASCII)


def names_attribute(word: str) -> bool:
    """Whether `word` has the form `module:attribute`, the way to name what is not in a table.

    >>> names_attribute("mine.models:Net"), names_attribute("resnet")
    (True, False)
    """
    return _MODULE_ATTRIBUTE.fullmatch(word) is not None
