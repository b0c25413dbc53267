"""What a job's `data:` names is opened, and what cannot be is said in its words."""

import pytest
import torch
from torch.utils.data import TensorDataset

from stretto.data.source import Source, as_sources, load_data
from stretto.data.sources.torch_dataset import TorchDataset
from stretto.errors import DataError
from stretto.job.choice import Choice


def dataset(size=10):
    return TensorDataset(torch.zeros(size, 2), torch.zeros(size))


def two_datasets(size=10):
    return dataset(size), dataset(3)


def anything(**arguments):
    return dataset(arguments["size"])


def test_a_word_opens_a_source():
    training, validation = load_data(Choice("digits", {"share": 0.5}))
    assert abs(len(training) - len(validation)) <= 10


@pytest.mark.parametrize(
    "name, lengths", [("dataset", (8, 2)), ("two_datasets", (10, 3)), ("anything", (8, 2))], ids=str
)
def test_a_function_of_ones_own_gives_what_it_has(name, lengths):
    sources = load_data(Choice(f"{__name__}:{name}", {"size": 10}))
    assert tuple(map(len, sources)) == lengths
    assert all(isinstance(source, Source) for source in sources)


def test_sources_tensors_and_datasets_are_all_taken():
    source = TorchDataset(dataset())
    assert as_sources((source, source)) == (source, source)
    assert [len(part) for part in as_sources(source)] == [8, 2]
    assert [len(part) for part in as_sources((torch.zeros(20, 3), torch.zeros(20)))] == [16, 4]
    with pytest.raises(DataError, match="cannot be read by number"):
        as_sources(42)


@pytest.mark.parametrize(
    "name, arguments, words",
    [
        ("digit", {}, r'data "digit" is unknown; choose one of digits, .*did you mean "digits".*module:attribute'),
        ("digits", {"shar": 0.1}, r'argument of data digits "shar" is unknown; .*did you mean "share"'),
        ("digits", {"share": "much"}, "data digits cannot use {'share': 'much'}"),
        ("text", {"length": 1.5}, "data text cannot use"),
        ("text", {"length": "long"}, "data text cannot use"),
        ("arrays", {}, "data arrays needs inputs, targets"),
        ("arrays", {"inputs": 5, "targets": 6}, "an array of int64 with shape .. holds no samples"),
        ("no_such_module:dataset", {}, 'there is no module "no_such_module"'),
        (f"{__name__}:no_such", {}, 'has no "no_such"'),
        (f"{__name__}:dataset", {"length": 3}, 'argument of data .* "length" is unknown'),
    ],
)
def test_what_cannot_be_opened_is_said_in_the_jobs_words(name, arguments, words):
    with pytest.raises(DataError, match=words):
        load_data(Choice(name, arguments))


def test_an_error_of_a_persons_own_function_stays_their_own():
    with pytest.raises(KeyError):
        load_data(Choice(f"{__name__}:anything"))
