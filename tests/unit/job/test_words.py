"""The known words, and what a job costs to read."""

import subprocess
import sys

import pytest

from stretto.job import words

HEAVY = ("torch", "numpy", "rich", "click", "msgspec")


@pytest.mark.parametrize(
    ("word", "is_name"),
    [
        ("a:b", True),
        ("a.b_1:C.d", True),
        ("a", False),
        ("a:", False),
        (":b", False),
        ("a b:c", False),
        ("a:b\n", False),
    ],
)
def test_an_importable_name_has_a_module_and_an_attribute(word, is_name):
    assert words.names_attribute(word) is is_name


def test_every_default_metric_and_every_direction_is_of_a_known_metric():
    assert set(words.DEFAULT_METRICS) == set(words.TASKS)
    assert {name for names in words.DEFAULT_METRICS.values() for name in names} <= set(words.METRICS)
    assert set(words.HIGHER_IS_BETTER) == set(words.METRICS)


def test_torch_has_every_optimizer_and_schedule_that_is_offered():
    import torch

    assert [name for name in words.OPTIMIZERS if not hasattr(torch.optim, name)] == []
    assert [name for name in words.SCHEDULES if not hasattr(torch.optim.lr_scheduler, name)] == []


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        (words.WHOLE, [0, -3], [True, 1.5, "3", None]),
        (words.COUNT, [1, 7], [0, True, 1.5, None]),
        (words.COUNT + words.OR_NULL, [1, None], [0, "x"]),
        (words.NUMBER, [0, 1.5], [True, "1", None]),
        (words.NUMBERS, [0, 1.5, [1, 0.5]], [True, "1", None, [], ["x"], [[1]]]),
        (words.TEXT, ["", "x"], [1, None, True]),
        (words.TEXT + words.OR_NULL, ["x", None], [1]),
        (words.TEXTS, [["x"], []], ["x", [1], None]),
        (words.TEXTS + words.OR_NULL, [["x"], None], ["x"]),
        (words.SOME_TEXTS, ["x", ["x", "y"]], [1, [None], None]),
        (words.SOME_TEXTS + words.OR_NULL, ["x", ["x"], None], [1]),
        (words.FLAG, [True, False], [0, "true", None]),
        (words.ANYTHING, [0, None, [1], {}], []),
    ],
)
def test_a_kind_takes_what_its_name_says(kind, good, bad):
    assert [value for value in good if not words.fits(kind, value)] == []
    assert [value for value in bad if words.fits(kind, value)] == []


def test_jobs_and_plans_are_read_without_anything_heavy():
    program = f"import sys, stretto.job, stretto.plan; print([name for name in {HEAVY!r} if name in sys.modules])"
    answer = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
