"""A tally arrives as it left."""

from __future__ import annotations

from stretto.compute.tally import Tally


def test_a_tally_survives_travelling_even_with_very_large_counts() -> None:
    tally = Tally(weight=2.0**53 - 1, loss=0.1, samples=3, seats=1, stop=1, save=0, idle=1)
    assert Tally.of(tally.vector()) == tally


def test_the_mean_is_that_of_what_was_read() -> None:
    assert Tally(weight=4, loss=8, judged=16).mean_loss == 0.5


def test_nothing_has_no_mean() -> None:
    assert Tally().mean_loss != Tally().mean_loss
