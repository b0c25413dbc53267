"""A layout puts a model on its seat."""

import pytest
import torch
from torch import nn

from stretto.communicate.alone import Alone
from stretto.errors import JobError
from stretto.job.choice import Choice
from stretto.model import LAYOUTS
from stretto.model.layout import load_layout
from stretto.model.normalisation import SynchronisedBatchNorm
from stretto.model.replicated import Replicated


class Pair(Alone):
    size = 2


def test_every_word_gives_a_layout():
    assert all(hasattr(load_layout(Choice(name)), "place") for name in LAYOUTS)


def test_an_argument_that_a_layout_does_not_have_is_refused():
    with pytest.raises(JobError, match='argument of layout replicated "stages" is unknown'):
        load_layout(Choice("replicated", {"stages": 3}))


def test_the_model_is_moved_to_the_device():
    assert Replicated().place(nn.Linear(2, 2), "meta", Alone()).weight.device.type == "meta"


@pytest.mark.parametrize("normalisation, kind", [("synchronised", SynchronisedBatchNorm), ("local", nn.BatchNorm1d)])
def test_normalisation_is_what_the_job_says(normalisation, kind):
    model = Replicated().place(nn.Sequential(nn.BatchNorm1d(2)), "cpu", Pair(), normalisation)
    assert type(model[0]) is kind


def test_compiling_changes_no_name_and_no_result(monkeypatch):
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU())
    plain, compiled = model(torch.ones(1, 2)), []
    monkeypatch.setattr(nn.Module, "compile", lambda self: compiled.append(self))
    placed = Replicated().place(model, "cpu", Alone(), compile=True)
    assert compiled == [model]
    assert list(placed.state_dict()) == ["0.weight", "0.bias"]
    assert torch.equal(placed(torch.ones(1, 2)), plain)
