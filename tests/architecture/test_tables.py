"""One word per thing: what a job may say is what the packages offer, in every table the same."""

from __future__ import annotations

import inspect
from importlib import import_module
from pathlib import Path

import pytest

from stretto.checkpoint import STORES
from stretto.compute.task import TASKS
from stretto.data import ORDERS, SOURCES, TRANSFORMS
from stretto.evaluate import METRICS
from stretto.job import read_job, words
from stretto.launch import ENGINES
from stretto.model import LAYOUTS
from stretto.model.zoo import MODELS
from stretto.roles import ROLES
from stretto.strategies import STRATEGIES
from stretto.update.torch_rule import LENGTHS

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "jobs").glob("*.yaml"))
TABLES = {
    "model": (words.MODELS, MODELS),
    "data": (words.DATA, SOURCES),
    "order": (words.ORDERS, ORDERS),
    "transform": (words.TRANSFORMS, TRANSFORMS),
    "task": (words.TASKS, TASKS),
    "strategy": (words.STRATEGIES, STRATEGIES),
    "layout": (words.LAYOUTS, LAYOUTS),
    "engine": (words.ENGINES, ENGINES),
    "metric": (words.METRICS, METRICS),
}
SUPPLIED = {"order": {"source", "seed"}}  # what a job does not say, because it is known anyway
PLACES = {**MODELS, **SOURCES, **ORDERS, **TRANSFORMS, **STRATEGIES, **LAYOUTS, **ENGINES, **STORES, **ROLES}


@pytest.mark.parametrize(("known", "table"), TABLES.values(), ids=list(TABLES))
def test_the_words_a_job_knows_are_those_of_the_package_that_means_them(known, table):
    assert set(known) == set(table)
    assert len(known) == len(set(known))


def kind_of(parameter: inspect.Parameter) -> set[str]:
    """The kinds a job may give for a parameter with this annotation."""
    kinds = {"int": {words.WHOLE, words.COUNT}, "float": {words.NUMBER}, "str": {words.TEXT}, "bool": {words.FLAG}}
    kinds |= {"list[str]": {words.TEXTS}}
    written = str(parameter.annotation)
    if written == "float | Sequence[float]":
        return {words.NUMBERS}
    if written.startswith("str | list[str]"):
        return {words.SOME_TEXTS + (words.OR_NULL if written.endswith("None") else "")}
    first, *rest = written.split(" | ")
    return {kind + words.OR_NULL if rest[-1:] == ["None"] else kind for kind in kinds[first]}


@pytest.mark.parametrize(
    ("known", "table", "supplied"),
    [(*each, SUPPLIED.get(key, set())) for key, each in TABLES.items() if key not in ("metric", "engine")],
    ids=[key for key in TABLES if key not in ("metric", "engine")],
)
def test_the_arguments_a_job_knows_are_those_of_the_class_that_takes_them(known, table, supplied):
    for word, place in table.items():
        module, _, name = place.partition(":")
        parameters = inspect.signature(getattr(import_module(module), name)).parameters
        assert set(known[word]) == set(parameters) - supplied, word
        for argument, kind in known[word].items():
            assert kind in kind_of(parameters[argument]), (word, argument)


@pytest.mark.parametrize(
    ("known", "home", "given"),
    [(words.OPTIMIZERS, "torch.optim", {"params", "lr"}), (words.SCHEDULES, "torch.optim.lr_scheduler", {"optimizer"})],
)
def test_the_arguments_a_job_knows_of_torch_are_those_of_torch(known, home, given):
    for word, arguments in known.items():
        parameters = inspect.signature(getattr(import_module(home), word)).parameters
        assert set(arguments) == set(parameters) - given, word
        needed = {name for name, each in parameters.items() if each.default is each.empty} - given - set(LENGTHS)
        assert set(words.NEEDED.get(word, ())) == needed, word


@pytest.mark.parametrize("place", PLACES.values(), ids=list(PLACES))
def test_what_a_table_names_is_there_and_says_what_it_is_for(place):
    module, _, name = place.partition(":")
    assert getattr(import_module(module), name).__doc__


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_every_example_is_a_job(path):
    assert read_job(path).to_yaml()


def test_every_strategy_has_an_example():
    assert {read_job(path).strategy.name for path in EXAMPLES} == set(STRATEGIES)
