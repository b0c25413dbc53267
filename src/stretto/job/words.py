"""The words a job may use without naming a module, and the arguments each takes: known here without torch."""

from __future__ import annotations

import re
from typing import Any

Arguments = dict[str, str]

# What an argument must be: the words in which it is refused, too.
WHOLE, COUNT, NUMBER = "a whole number", "a whole number, at least 1", "a number"
TEXT, FLAG, ANYTHING = "a text", "true or false", "anything"
NUMBERS = "a number, or a list of numbers"
TEXTS, SOME_TEXTS = "a list of texts", "one or several texts"
OR_NULL = ", or null"


def _named(names: str) -> Arguments:
    return dict.fromkeys(names.split(), ANYTHING)


_PICTURES: Arguments = {"classes": COUNT, "channels": COUNT}
_DECODED: Arguments = {"size": COUNT, "channels": COUNT}
_NUMBERS: Arguments = {"features": COUNT, "outputs": COUNT}
_DRAWS: Arguments = {"draws": COUNT + OR_NULL}
_IN_A_FOLDER: Arguments = {"folder": TEXT + OR_NULL}
_HELD_OUT: Arguments = {"share": NUMBER, "seed": WHOLE}
_TABLES: Arguments = {
    "files": SOME_TEXTS,
    "target": TEXT,
    "inputs": TEXTS + OR_NULL,
    "validation_files": SOME_TEXTS + OR_NULL,
    "classes": COUNT + OR_NULL,
    **_HELD_OUT,
}

MODELS: dict[str, Arguments] = {
    "linear": {**_NUMBERS, "bias": FLAG},
    "mlp": {**_NUMBERS, "width": COUNT, "depth": WHOLE, "dropout": NUMBER},
    "resnet": {**_PICTURES, "depth": COUNT, "width": COUNT + OR_NULL, "zero_init": FLAG},
    "wide_resnet": {**_PICTURES, "depth": COUNT, "widening": COUNT, "dropout": NUMBER},
    "fbnet": {**_PICTURES, "variant": TEXT, "dropout": NUMBER},
    "transformer": {
        **dict.fromkeys(("vocabulary", "length", "width", "depth", "heads"), COUNT),
        "dropout": NUMBER,
    },
}
DATA: dict[str, Arguments] = {
    "digits": _HELD_OUT,
    "mnist": _IN_A_FOLDER,
    "fashion_mnist": _IN_A_FOLDER,
    "cifar10": _IN_A_FOLDER,
    "image_folder": {"folder": TEXT, "validation_folder": TEXT + OR_NULL, **_HELD_OUT, **_DECODED},
    "tar": {
        "shards": SOME_TEXTS,
        "validation_shards": SOME_TEXTS + OR_NULL,
        "input": TEXT + OR_NULL,
        "target": TEXT,
        **_HELD_OUT,
        **_DECODED,
    },
    "arrays": {
        **dict.fromkeys(("inputs", "targets"), TEXT),
        **dict.fromkeys(("validation_inputs", "validation_targets"), TEXT + OR_NULL),
        **_HELD_OUT,
    },
    "parquet": _TABLES,
    "arrow": _TABLES,
    "csv": _TABLES,
    "hugging_face": {
        "folder": TEXT,
        "target": TEXT,
        "inputs": SOME_TEXTS + OR_NULL,
        "split": TEXT,
        "validation_split": TEXT + OR_NULL,
        **_HELD_OUT,
    },
    "tokens": {
        "files": SOME_TEXTS,
        "length": COUNT,
        "validation_files": SOME_TEXTS + OR_NULL,
        "share": NUMBER,
        "dtype": TEXT,
        "vocabulary": COUNT + OR_NULL,
    },
    "text": {"file": TEXT + OR_NULL, "length": COUNT, "share": NUMBER},
}
TASKS: dict[str, Arguments] = {
    "classification": {"label_smoothing": NUMBER},
    "regression": {},
    "language_modelling": {},
}
ORDERS: dict[str, Arguments] = {
    "shuffled": {"mix": COUNT},
    "in_order": {},
    "with_replacement": _DRAWS,
    "bootstrap": _DRAWS,
    "class_balanced": _DRAWS,
    "weighted": {"weights": TEXT, **_DRAWS},
    "importance": {"smoothing": NUMBER},
}
TRANSFORMS: dict[str, Arguments] = {
    "flip": {"chance": NUMBER},
    "crop": {"padding": COUNT},
    "erase": {"size": COUNT},
    "normalise": {"mean": NUMBERS, "deviation": NUMBERS},
}
STRATEGIES: dict[str, Arguments] = {"synchronous": {}, "local_sgd": {"interval": COUNT}}
LAYOUTS: dict[str, Arguments] = {"replicated": {}}
ENGINES: dict[str, Arguments] = {"inline": {}, "local": {}}
METRICS: dict[str, Arguments] = {"loss": {}, "accuracy": {}, "perplexity": {}}
PRECISIONS = ("fp32", "bf16", "fp16")

# What a metric of ours is by nature; for any other the job has to say it.
HIGHER_IS_BETTER = {"loss": False, "accuracy": True, "perplexity": False}
DEFAULT_METRICS = {"classification": ("accuracy",), "regression": (), "language_modelling": ("perplexity",)}

# Any class of torch.optim is allowed by name; these are offered by editors and in corrections, and their arguments are
# known, besides the parameters and the learning rate, which they are given.
_LIKE_ADAM = "betas eps weight_decay foreach maximize capturable differentiable"
OPTIMIZERS: dict[str, Arguments] = {
    "SGD": _named("momentum dampening weight_decay nesterov maximize foreach differentiable fused"),
    "Adam": _named(f"{_LIKE_ADAM} amsgrad fused decoupled_weight_decay"),
    "AdamW": _named(f"{_LIKE_ADAM} amsgrad fused"),
    "Adadelta": _named("rho eps weight_decay foreach capturable maximize differentiable"),
    "Adafactor": _named("beta2_decay eps d weight_decay foreach maximize"),
    "Adagrad": _named("lr_decay weight_decay initial_accumulator_value eps foreach maximize differentiable fused"),
    "Adamax": _named(_LIKE_ADAM),
    "ASGD": _named("lambd alpha t0 weight_decay foreach maximize differentiable capturable"),
    "NAdam": _named(f"{_LIKE_ADAM} momentum_decay decoupled_weight_decay"),
    "RAdam": _named(f"{_LIKE_ADAM} decoupled_weight_decay"),
    "RMSprop": _named("alpha eps weight_decay momentum centered capturable foreach maximize differentiable"),
    "Rprop": _named("etas step_sizes capturable foreach maximize differentiable"),
}
SCHEDULES: dict[str, Arguments] = {
    "ConstantLR": _named("factor total_iters last_epoch"),
    "CosineAnnealingLR": _named("T_max eta_min last_epoch"),
    "CosineAnnealingWarmRestarts": _named("T_0 T_mult eta_min last_epoch"),
    "CyclicLR": _named(
        "base_lr max_lr step_size_up step_size_down mode gamma scale_fn scale_mode cycle_momentum base_momentum "
        "max_momentum last_epoch"
    ),
    "ExponentialLR": _named("gamma last_epoch"),
    "LinearLR": _named("start_factor end_factor total_iters last_epoch"),
    "MultiStepLR": _named("milestones gamma last_epoch"),
    "OneCycleLR": _named(
        "max_lr total_steps epochs steps_per_epoch pct_start anneal_strategy cycle_momentum base_momentum "
        "max_momentum div_factor final_div_factor three_phase last_epoch"
    ),
    "PolynomialLR": _named("total_iters power last_epoch"),
    "StepLR": _named("step_size gamma last_epoch"),
}

# What a word cannot do without, and nobody else knows.
NEEDED: dict[str, tuple[str, ...]] = {
    "arrays": ("inputs", "targets"),
    "weighted": ("weights",),
    "erase": ("size",),
    "normalise": ("mean", "deviation"),
    "image_folder": ("folder",),
    "tar": ("shards",),
    **dict.fromkeys(("parquet", "arrow", "csv"), ("files", "target")),
    "hugging_face": ("folder", "target"),
    "tokens": ("files",),
    "CosineAnnealingWarmRestarts": ("T_0",),
    "CyclicLR": ("base_lr", "max_lr"),
    "ExponentialLR": ("gamma",),
    "MultiStepLR": ("milestones",),
    "OneCycleLR": ("max_lr",),
    "StepLR": ("step_size",),
}

MODULE_ATTRIBUTE = r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*(\.[A-Za-z_]\w*)*"
CLASS_NAME = r"[A-Z]\w*"
_MODULE_ATTRIBUTE = re.compile(MODULE_ATTRIBUTE, re.ASCII)


def names_attribute(word: str) -> bool:
    """Whether `word` has the form `module:attribute`, the way to name what is not in a table.

    >>> names_attribute("mine.models:Net"), names_attribute("resnet")
    (True, False)
    """
    return _MODULE_ATTRIBUTE.fullmatch(word) is not None


def fits(kind: str, value: object) -> bool:
    """Whether a value of the job may be an argument of this kind.

    >>> fits(COUNT, 3), fits(COUNT, 0), fits(COUNT, True), fits(TEXT + OR_NULL, None)
    (True, False, False, True)
    """
    if kind == ANYTHING or (value is None and kind.endswith(OR_NULL)):
        return True
    if kind.startswith((TEXTS, SOME_TEXTS)):
        listed = isinstance(value, list) and all(isinstance(each, str) for each in value)
        return listed or (kind.startswith(SOME_TEXTS) and isinstance(value, str))
    if kind.startswith(TEXT):
        return isinstance(value, str)
    if kind == FLAG or isinstance(value, bool):
        return kind == FLAG and isinstance(value, bool)
    if kind == NUMBERS and isinstance(value, list):
        return bool(value) and all(fits(NUMBER, each) for each in value)
    if kind in (NUMBER, NUMBERS):
        return isinstance(value, int | float)
    return isinstance(value, int) and (value >= 1 or not kind.startswith(COUNT))


def kind_schema(kind: str) -> dict[str, Any]:
    """The JSON schema of an argument of this kind.

    >>> kind_schema(COUNT + OR_NULL)
    {'type': ['integer', 'null'], 'minimum': 1}
    """
    texts: dict[str, Any] = {"type": "array", "items": {"type": "string"}}
    types = {WHOLE: "integer", COUNT: "integer", NUMBER: "number", TEXT: "string", FLAG: "boolean"}
    if kind == ANYTHING:
        return {}
    if kind == NUMBERS:
        return {"type": ["number", "array"], "items": {"type": "number"}, "minItems": 1}
    needed = kind.removesuffix(OR_NULL)
    if needed in (TEXTS, SOME_TEXTS):
        one = [{"type": "string"}] if needed == SOME_TEXTS else []
        return {"anyOf": [*one, texts, *([{"type": "null"}] if needed != kind else [])]}
    schema: dict[str, Any] = {"type": types[needed] if needed == kind else [types[needed], "null"]}
    return schema | {"minimum": 1} if needed == COUNT else schema
