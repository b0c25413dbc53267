"""What cannot be true together: each key is right on its own, but no training could follow them all."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from operator import attrgetter

from stretto.errors import choose
from stretto.job.choice import Choice
from stretto.job.job import Job
from stretto.job.wording import shown
from stretto.job.words import (
    DATA,
    ENGINES,
    HIGHER_IS_BETTER,
    LAYOUTS,
    METRICS,
    MODELS,
    NEEDED,
    OPTIMIZERS,
    ORDERS,
    SCHEDULES,
    STRATEGIES,
    TASKS,
    TRANSFORMS,
    Arguments,
    fits,
)

Finding = tuple[str, str]
LENGTHS = {"CosineAnnealingLR": "T_max", "OneCycleLR": "total_steps"}  # what schedules call the length of a training


@dataclass(frozen=True, slots=True, kw_only=True)
class Combination:
    """Keys that limit one another; `find` yields the key to change and why, and nothing when they go together.

    A combination is looked at only when all of `keys` can be read, so that one mistake is not reported as two.
    """

    keys: tuple[str, ...]
    find: Callable[[Job], Iterator[Finding]]


def _accumulation(job: Job) -> Iterator[Finding]:
    batch, accumulate, workers = job.training.batch, job.training.accumulate, job.cluster.workers
    if accumulate > batch:
        fact = f"{accumulate} micro-batches cannot be made of {batch} samples (training.batch = {batch})"
        yield "training.accumulate", f"{fact}; use {batch} or fewer"
    elif workers > batch:
        fact = f"{workers} workers cannot share {batch} samples (training.batch = {batch})"
        yield "cluster.workers", f"{fact}; use {batch} or fewer, or a larger batch"
    elif workers * accumulate > batch:
        fact = f"{workers} workers with {accumulate} micro-batches each need {workers * accumulate} samples per update"
        yield "training.batch", f"{fact}, not {batch}; use a larger batch, or accumulate less"


def _metrics(job: Job) -> Iterator[Finding]:
    metrics = job.validation.metrics or ()
    names = [metric.name for metric in metrics]
    for index, name in enumerate(names):
        key = f"validation.metrics.{index}"
        if name in METRICS:
            yield from _misfits(key, metrics[index], METRICS[name])
        if name in names[:index]:
            yield key, f'"{name}" is given twice; keep one'
        elif job.task.name == "regression" and name in ("accuracy", "perplexity"):
            yield key, f"{name} needs classes, and a regression has none; use loss, or a class of torchmetrics"


def _transforms(job: Job) -> Iterator[Finding]:
    for index, transform in enumerate(job.loading.transform):
        if transform.name in TRANSFORMS:
            yield from _misfits(f"loading.transform.{index}", transform, TRANSFORMS[transform.name])


def _best(job: Job) -> Iterator[Finding]:
    best, names = job.checkpoint.best, [metric.name for metric in job.metrics]
    if job.validation.every is None:
        return
    if best.name not in names:
        yield "checkpoint.best", choose("", best.name, names) + "; or add it to validation.metrics"
    elif job.higher_is_better(best.name) is None:
        fact = f"whether more {best.name} is better is not known"
        yield "checkpoint.best", f"{fact}; write {{name: {best.name}, higher: true}}, or false"


def _target(job: Job) -> Iterator[Finding]:
    names = [metric.name for metric in job.metrics]
    for name, value in job.stop.target.items():
        key = f"stop.target.{name}"
        if name not in names:
            yield key, choose("metric", name, names) + "; or add it to validation.metrics"
        elif job.higher_is_better(name) is None:
            known = ", ".join(METRICS)
            yield key, f"whether more {name} is better is known only of {known} and of checkpoint.best"
        elif name == "accuracy" and not 0 <= value <= 1:
            yield key, f"an accuracy lies between 0 and 1, so {value:g} is never its goal; 99 % is 0.99"


def _validated(job: Job) -> Iterator[Finding]:
    if job.validation.every is None and job.stop.target:
        yield "stop.target", "cannot be reached when nothing is validated; give validation.every, such as 1ep"
    if job.validation.every is None and job.stop.patience is not None:
        yield "stop.patience", "waits for validations, and there are none; give validation.every, such as 1ep"


def _direction(job: Job) -> Iterator[Finding]:
    best = job.checkpoint.best
    if best.higher is not None and HIGHER_IS_BETTER.get(best.name, best.higher) != best.higher:
        known = "higher" if HIGHER_IS_BETTER[best.name] else "lower"
        yield "checkpoint.best.higher", f"{known} {best.name} is better; leave higher out"


def _optimizer(job: Job) -> Iterator[Finding]:
    optimizer = job.training.optimizer
    if "lr" in optimizer.arguments:
        yield "training.optimizer.lr", "the learning rate is given in training.lr; move it there"
    if optimizer.name == "LBFGS":
        fact = "LBFGS asks for the loss several times per update, the loop gives it once"
        yield "training.optimizer", f"{fact}; use another"


def _length(job: Job) -> Iterator[Finding]:
    schedule, until = job.training.schedule, job.training.until
    if schedule is None or schedule.name not in LENGTHS or until.epochs is not None or until.steps is not None:
        return
    wanted = LENGTHS[schedule.name]
    if not {wanted, "epochs"} & schedule.arguments.keys():
        fact = f"{schedule.name} has to know how long the training is, and {until} does not tell in steps"
        yield "training.schedule", f"{fact}; give {wanted}, or a second bound: {until} or 10ep"


def _learning(job: Job) -> Iterator[Finding]:
    order = job.loading.order
    if order is not None and order.name == "importance" and not job.cluster.samplers:
        fact = "importance learns from all workers' losses, which meet at a sampling node"
        yield "loading.order", f"{fact}; add cluster.samplers: 1"


def _shares(job: Job) -> Iterator[Finding]:
    if job.cluster.shares == "measured" and job.strategy.name == "local_sgd":
        fact = "workers that learn alone are averaged as equals, so their shares have to be even"
        yield "cluster.shares", f"{fact}; use shares: even, or the strategy synchronous"


def _misused(key: str, table: dict[str, Arguments]) -> Combination:
    """The arguments given with a word of ours, or of torch, where the key holds a choice."""

    def find(job: Job) -> Iterator[Finding]:
        choice: Choice | None = attrgetter(key)(job)
        if choice is not None and choice.name in table:
            yield from _misfits(key, choice, table[choice.name])

    return Combination(keys=(key,), find=find)


def _misfits(key: str, choice: Choice, known: Arguments) -> Iterator[Finding]:
    """Every argument must be known and of the right kind, and none may be missing."""
    for name, value in choice.arguments.items():
        if name in known:
            if not fits(known[name], value):
                yield f"{key}.{name}", f"must be {known[name]}, not {shown(value)}"
        elif (key, name) != ("training.optimizer", "lr"):
            none = f"{choice.name} takes no arguments; leave it out"
            yield f"{key}.{name}", choose("argument", name, known) if known else none
    missing = [name for name in NEEDED.get(choice.name, ()) if name not in choice.arguments]
    if missing:
        yield key, f"{choice.name} needs {' and '.join(missing)}; write {{name: {choice.name}, {missing[0]}: …}}"


COMBINATIONS = (
    Combination(keys=("training.accumulate", "training.batch", "cluster.workers"), find=_accumulation),
    Combination(keys=("validation.metrics", "task"), find=_metrics),
    Combination(keys=("loading.transform",), find=_transforms),
    Combination(keys=("checkpoint.best", "validation.metrics", "validation.every", "task"), find=_best),
    Combination(keys=("checkpoint.best",), find=_direction),
    Combination(keys=("stop.target", "validation.metrics", "checkpoint.best", "task"), find=_target),
    Combination(keys=("stop.target", "stop.patience", "validation.every"), find=_validated),
    Combination(keys=("training.optimizer",), find=_optimizer),
    Combination(keys=("training.schedule", "training.until"), find=_length),
    Combination(keys=("loading.order", "cluster.samplers"), find=_learning),
    Combination(keys=("cluster.shares", "strategy"), find=_shares),
    _misused("model", MODELS),
    _misused("data", DATA),
    _misused("task", TASKS),
    _misused("loading.order", ORDERS),
    _misused("strategy", STRATEGIES),
    _misused("layout", LAYOUTS),
    _misused("engine", ENGINES),
    _misused("training.optimizer", OPTIMIZERS),
    _misused("training.schedule", SCHEDULES),
)
