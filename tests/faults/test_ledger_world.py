"""Seeded schedules of lost, doubled and late commits, crashes and rewinds: what stays committed is each sample once."""

import random

import pytest

from stretto.data.audit import Noted, audit
from stretto.data.ledger import Ledger, Position, Verdict
from stretto.data.series import Series


class World:
    """One worker and one ledger, with a network between them that drops, doubles and delays what the worker says.

    The worker goes on only after an answer, asks again when there is none, and saves now and then. A crash takes it
    back to its last save, under a new view, while what it had said before may still arrive.
    """

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.size, self.batch = self.random.randint(1, 40), self.random.randint(1, 12)
        self.ledger = Ledger(self.size, self.batch)
        self.history = []
        self.saved = (Position(), 0, 0)
        self.network = []
        self.verdicts = set()

    def run(self, events=300):
        for _ in range(events):
            self.random.choice([self.say, self.say, self.deliver, self.deliver, self.save, self.crash])()
        while self.ledger.position.offset or not self.ledger.step:  # faults have stopped: the epoch gets finished
            self.say(reliable=True)
        return self

    def say(self, reliable=False):
        message = (self.ledger.next(self.ledger.position), self.ledger.step + 1, self.ledger.view)
        copies = 1 if reliable else self.random.choice([0, 1, 1, 2, 3])
        self.network += [message] * copies
        if reliable:
            self.arrive(self.network.pop())

    def deliver(self):
        if self.network:
            self.arrive(self.network.pop(self.random.randrange(len(self.network))))

    def arrive(self, message):
        verdict = self.ledger.commit(*message)
        self.verdicts.add(verdict)
        if verdict is Verdict.COMMITTED:
            self.history.append(message[0])

    def save(self):
        self.saved = (self.ledger.position, self.ledger.step, len(self.history))

    def crash(self):
        position, step, kept = self.saved
        self.ledger.rewind(position, step, self.ledger.view + 1)
        self.history = self.history[:kept]


@pytest.mark.parametrize("first_seed", range(0, 400, 100))
def test_every_sample_is_used_exactly_once_in_what_was_finally_committed(first_seed):
    for seed in range(first_seed, first_seed + 100):
        world = World(seed).run()
        uses = [(0, Series(lease.epoch, lease.start, len(lease), step)) for step, lease in enumerate(world.history)]
        assert all(each.complete for each in audit(Noted(uses=uses, sizes={0: world.size}))), f"seed {seed}"
        assert sum(map(len, world.history)) == world.ledger.position.epoch * world.size, f"seed {seed}"
        assert len(world.history) == world.ledger.step, f"seed {seed}"


def test_the_schedules_meet_every_verdict():
    met = set().union(*(World(seed).run().verdicts for seed in range(50)))
    assert met >= {Verdict.COMMITTED, Verdict.DOUBLE, Verdict.OLD_VIEW}


def test_the_same_seed_is_the_same_story():
    assert World(7).run().history == World(7).run().history
