"""A tally arrives as it left."""

from __future__ import annotations

from stretto.compute.tally import Tally


def test_a_tally_survives_travelling_even_with_very_large_counts() -> None:
    tally = Tally(weight=2.0**53 - 1, loss=0.1, samples=3, seats=1, stop=1, save=0, idle=1)
    assert Tally.of(tally.vector()) == tally


def test_tallies_add_up_field_by_field() -> None:
    total = Tally(weight=3, loss=6, samples=3, stop=1) + Tally(weight=1, loss=2, samples=1)
    assert (total.mean_loss, total.samples, total.seats, total.stop) == (2.0, 4.0, 2.0, 1.0)


def test_nothing_has_no_mean() -> None:
    assert Tally().mean_loss != Tally().mean_loss
