"""A job's `model:` becomes a module, completed by what the data tells."""

import pytest
import torch
from torch import nn

from stretto.errors import ModelError
from stretto.job.choice import Choice
from stretto.model.loading import load_model
from stretto.model.zoo import MODELS

DIGITS = {"shape": (1, 8, 8), "features": 64, "channels": 1, "classes": 10, "outputs": 10}


class Tiny(nn.Module):
    def __init__(self, features, hidden=3, **more):
        super().__init__()
        self.layer = nn.Linear(features, hidden)
        self.more = more


def make_tiny(size):
    return nn.Linear(size, size)


def make_nothing():
    return 5


def make_trouble():
    raise TypeError("my own mistake")


@pytest.mark.parametrize("name", [name for name in MODELS if name not in ("transformer", "fbnet")])
def test_a_word_of_the_zoo_needs_nothing_but_the_data(name):
    model = load_model(Choice(name), DIGITS)
    assert model(torch.zeros(2, 1, 8, 8)).shape == (2, 10)


def test_a_transformer_learns_vocabulary_and_length_from_the_text():
    model = load_model(Choice("transformer"), {"vocabulary": 99, "length": 7, "shape": (7,)})
    assert model(torch.zeros(2, 7, dtype=torch.long)).shape == (2, 7, 99)


def test_what_the_job_says_counts_more_than_the_data():
    assert load_model(Choice("mlp", {"outputs": 3, "width": 5}), DIGITS)(torch.zeros(2, 64)).shape == (2, 3)


def test_a_class_of_ones_own_gets_only_what_it_takes():
    model = load_model(Choice(f"{__name__}:Tiny", {"hidden": 2, "colour": "red"}), DIGITS)
    assert (model.layer.in_features, model.layer.out_features, model.more) == (64, 2, {"colour": "red"})
    assert load_model(Choice(f"{__name__}:make_tiny", {"size": 4}), DIGITS).in_features == 4


@pytest.mark.parametrize(
    "name, arguments, words",
    [
        ("resnett", {}, r'model "resnett" is unknown; choose one of linear.*did you mean "resnet".*module:attribute'),
        ("resnet", {"dept": 8}, r'argument of model resnet "dept" is unknown; .*did you mean "depth"'),
        ("resnet", {"depth": 9}, r"cannot have 9 layers; model.depth is 6n \+ 2"),
        ("resnet", {"depth": "deep"}, "model resnet cannot use"),
        ("resnet", {"depth": 8, "width": -4}, "model resnet cannot use"),
        ("wide_resnet", {"depth": 20}, r"cannot have 20 layers; model.depth is 6n \+ 4"),
        ("mlp", {"depth": -1}, "-1 hidden layers cannot be built"),
        ("mlp", {"dropout": 2.0}, "model mlp cannot use"),
        ("fbnet", {"variant": "d"}, r'"d" is unknown; choose one of a, b, c'),
        ("transformer", {"width": 10, "heads": 4}, "a width of 10 cannot be cut into 4 heads"),
        (f"{__name__}:make_tiny", {}, "needs size; say it in the job"),
        (f"{__name__}:make_nothing", {}, "gave int; it must give a torch.nn.Module"),
        (f"{__name__}:Missing", {}, 'has no "Missing"'),
        ("no_such_module:Net", {}, 'there is no module "no_such_module"'),
    ],
)
def test_what_cannot_be_built_is_said_in_the_jobs_words(name, arguments, words):
    with pytest.raises(ModelError, match=words):
        load_model(Choice(name, arguments), DIGITS)


def test_a_model_that_needs_what_the_data_does_not_tell_says_what():
    with pytest.raises(ModelError, match="model linear needs features"):
        load_model(Choice("linear"), {})


def test_an_error_of_a_persons_own_class_stays_their_own():
    with pytest.raises(TypeError, match="my own mistake"):
        load_model(Choice(f"{__name__}:make_trouble"), DIGITS)
