"""A worker's accounts are kept until they are confirmed, and told again when they were not."""

import pytest

from stretto.data.assembly import Wanted
from stretto.data.ledger import Ledger
from stretto.roles import accounts as module
from stretto.roles.accounts import Accounts


class Coordinator:
    """Notes what it is told, answers when it is let, and refuses when its disk is full."""

    def __init__(self, answers=None):
        self.told, self.answers = [], answers

    def tell(self, uses):
        self.told.append(list(uses))
        return lambda wait_s: self.answers.pop(0) if self.answers else None


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(module, "TELL_S", 0.0)
    monkeypatch.setattr(module, "SETTLE_S", 0.2)


def train(accounts, steps):
    leases, position = Ledger(100, 10), Ledger(100, 10).position
    for step in steps:
        lease = leases.next(position)
        accounts.used(step, Wanted(lease, (range(lease.start, lease.start + 5),)))
        position = lease.end


def samples(uses):
    return sum(each.samples for each in uses)


def test_nothing_is_told_while_an_answer_is_due():
    coordinator = Coordinator([None, None, None])
    train(Accounts(coordinator), range(1, 4))
    assert list(map(samples, coordinator.told)) == [5]


def test_what_is_confirmed_is_not_told_again():
    coordinator = Coordinator([True, True])
    accounts = Accounts(coordinator)
    train(accounts, range(1, 4))
    assert list(map(samples, coordinator.told)) == [5, 5, 5]
    assert [each[3] for each in accounts.unconfirmed()] == [3]


def test_what_could_not_be_noted_is_told_again_with_what_is_new():
    coordinator = Coordinator([False, False])
    train(Accounts(coordinator), range(1, 4))
    assert list(map(samples, coordinator.told)) == [5, 10, 15]


def test_the_end_waits_until_all_is_noted():
    accounts = Accounts(Coordinator([None, True, True]))
    train(accounts, range(1, 3))
    assert accounts.settle()
    assert accounts.unconfirmed() == []


@pytest.mark.parametrize("answers", [[False] * 9, []], ids=["refused", "never answered"])
def test_the_end_does_not_wait_for_ever(answers):
    accounts = Accounts(Coordinator(answers))
    train(accounts, range(1, 3))
    assert not accounts.settle()


def test_without_a_line_nothing_is_kept():
    accounts = Accounts()
    train(accounts, range(1, 3))
    assert accounts.settle() and accounts.unconfirmed() == []
