"""Whatever a job holds, it reads back as it was written."""

from hypothesis import given, settings
from hypothesis import strategies as some

from stretto.job import Choice, job_from, read_job
from stretto.job.document import read_document
from stretto.job.writing import to_yaml

TEXTS = some.text(some.characters(exclude_categories=["Cs"]), max_size=20) | some.sampled_from(
    [
        "on",
        "no",
        "1e-3",
        "010",
        "0o7",
        "1:30",
        "2024-01-01",
        "null",
        "~",
        "",
        " ",
        ".nan",
        "!x",
        "*a",
        "1_0",
        "<<",
        "a: b",
        "#",
    ]
)
NUMBERS = some.integers(-(2**63), 2**63 - 1) | some.floats(allow_nan=False)
VALUES = some.recursive(
    some.none() | some.booleans() | NUMBERS | TEXTS,
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=10,
)


@settings(max_examples=60, deadline=None)
@given(some.dictionaries(TEXTS, VALUES, max_size=5))
def test_any_values_read_back_as_they_were_written(values):
    assert read_document(to_yaml(values), "written").plain() == values


@settings(max_examples=60, deadline=None)
@given(some.dictionaries(TEXTS.filter(lambda key: key != "name"), VALUES, max_size=4))
def test_a_job_with_any_arguments_reads_back_equal(arguments):
    job = job_from({"model": Choice("mine:Model", arguments), "data": "digits", "task": "classification"})
    assert read_job("again.yaml", text=job.to_yaml()) == job


def test_what_is_written_is_what_a_person_would_write():
    job = job_from({"model": {"name": "resnet", "depth": 8}, "data": "digits", "task": "classification"})
    assert job.to_yaml().startswith(
        "model:\n  name: resnet\n  depth: 8\ndata: digits\ntask: classification\ntraining:\n  batch: 64\n"
    )
    assert "until: 3ep\n" in job.to_yaml()
