"""Shares follow measured speed: smoothed, bounded, left alone when they are about right."""

import math

import pytest

from stretto.roles.balance import BOUND, FIRST_STEPS, LARGEST_STEPS, Balance, Pace


def told(*rates):
    balance = Balance(len(rates[0]))
    for each in rates:
        balance.hear(each, now_s=0.0)
    return balance


def test_shares_are_as_the_speeds():
    assert told([300.0, 100.0, 100.0]).shares() == pytest.approx((0.6, 0.2, 0.2))


def test_shares_that_are_about_right_are_left_alone():
    assert told([100.0, 101.0]).shares() is None
    balance = told([300.0, 100.0])
    assert balance.shares() is not None
    balance.hear([302.0, 99.0], now_s=0.0)
    assert balance.shares() is None


def test_a_single_outlier_moves_shares_only_half_way():
    balance = told([100.0, 100.0], [100.0, 300.0])
    assert balance.shares() == pytest.approx((1 / 3, 2 / 3))


def test_nobody_gets_less_than_a_part_of_an_even_share():
    slow, fast = told([1.0, 10_000.0]).shares()
    assert slow >= 0.5 / BOUND / (1 + 1 / BOUND)
    assert slow + fast == pytest.approx(1)


def test_a_worker_that_did_nothing_keeps_the_speed_it_had():
    balance = told([100.0, math.nan])
    assert balance.shares() is None
    balance.hear([100.0, 300.0], now_s=0.0)
    balance.hear([100.0, math.nan], now_s=0.0)
    assert balance.shares() == pytest.approx((0.25, 0.75))


def test_exchanges_become_rarer_but_do_not_end():
    balance = Balance(2)
    due = [step for step in range(1, 3000) if balance.due(step)]
    assert due[:3] == [FIRST_STEPS, 3 * FIRST_STEPS, 7 * FIRST_STEPS]
    assert due[-1] - due[-2] == LARGEST_STEPS


def test_the_slowest_is_named_only_when_it_has_been_slow_for_a_while():
    balance = told([100.0, 30.0])
    assert balance.slowest(now_s=5.0) is None
    balance.hear([100.0, 30.0], now_s=9.0)
    assert balance.slowest(now_s=11.0) == (1, pytest.approx(100 / 30))
    balance.hear([100.0, 120.0], now_s=12.0)
    assert balance.slowest(now_s=30.0) is None


def test_waiting_for_others_does_not_make_a_worker_slow():
    pace = Pace()
    assert math.isnan(pace.rate(1.0, 0.0))
    pace.begin(now_s=10.0, waited_s=2.0)
    pace.count(60)
    assert pace.rate(now_s=14.0, waited_s=5.0) == 60.0
    pace.begin(now_s=14.0, waited_s=5.0)
    assert math.isnan(pace.rate(now_s=15.0, waited_s=5.0))
