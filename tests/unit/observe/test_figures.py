import doctest
import math

import pytest

from stretto.observe import event, figures, news, overview, sinks, training
from stretto.observe.figures import clock, figure, size


@pytest.mark.parametrize(
    "module", [event, figures, news, overview, sinks, training], ids=lambda module: module.__name__
)
def test_the_examples_of_the_documentation_are_true(module):
    results = doctest.testmod(module)
    assert results.attempted and not results.failed


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (0.0, "0"),
        (-2.5, "-2.500"),
        (12_345.6, "12,346"),
        (math.nan, "nan"),
        (-math.inf, "-inf"),
        (1e-7, "1.000e-07"),
        (3e12, "3.000e+12"),
    ],
)
def test_figures_are_short_whatever_the_number(value, text):
    assert figure(value) == text


def test_clocks_and_sizes_at_their_limits():
    assert [clock(-1), clock(59.6), clock(86_400)] == ["0:00", "1:00", "24:00:00"]
    assert [size(0), size(999), size(1000), size(5e15)] == ["0 B", "999 B", "1.0 kB", "5000.0 TB"]
