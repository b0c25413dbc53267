"""The gathering of shards under thousands of seeded schedules: late, doubled and reordered messages, kills, views."""

import heapq
import random
from dataclasses import dataclass, field

import pytest

from stretto.checkpoint.gathering import Commit, Discard, Gathering, Save
from stretto.checkpoint.shard import Shard, shard_file

SCHEDULES = 2000


def described(step, seat, content):
    return Shard(step=step, seat=seat, file=shard_file(seat), header_bytes=64, header_digest=f"{content}", tensors=())


@dataclass
class World:
    """Seats that save, a network that delays, doubles and reorders, a disk, and kills; all from one seed."""

    seed: int
    faulty: bool = True
    seats: int = 3
    now: float = 0.0
    order: int = 0
    queue: list = field(default_factory=list)
    view: int = 1
    alive: set = field(default_factory=set)
    writing: dict = field(default_factory=dict)
    disk: dict = field(default_factory=dict)
    commits: list = field(default_factory=list)
    discards: list = field(default_factory=list)
    faults: int = 0

    def __post_init__(self):
        self.chance = random.Random(self.seed)
        self.gathering = Gathering(self.view)
        self.alive = set(range(self.seats))

    def later(self, mean_s, event, *arguments):
        self.order += 1
        when = self.now + self.chance.expovariate(1 / mean_s)
        heapq.heappush(self.queue, (when, self.order, event, arguments))

    def run(self, saves=6):
        self.later(1.0, self.save, 10, saves)
        while self.queue:
            self.now, _, event, arguments = heapq.heappop(self.queue)
            event(*arguments)
        return self

    def save(self, step, rest):
        """All seats of the view begin the save of a step, each after its own delay; then some happen to die."""
        save = Save(view=self.view, step=step)
        for seat in self.alive:
            self.later(0.3, self.begin, save, seat)
        if self.faulty and self.chance.random() < 0.25:
            self.later(0.6, self.kill, self.chance.choice(sorted(self.alive)), step, rest)
        elif rest > 1:
            self.later(0.7, self.save, step + 10, rest - 1)

    def begin(self, save, seat):
        if save.view != self.view or seat not in self.alive:
            return
        if seat == 0:
            self.apply(self.gathering.begin(save, range(self.seats)))
        self.later(self.chance.choice([0.1, 1.0]), self.write, save, seat)

    def write(self, save, seat):
        """The shard reaches the disk, unless its seat has died; then the description of it travels."""
        if save.view != self.view or seat not in self.alive:
            return
        if self.faulty and self.chance.random() < 0.05:
            self.faults += 1
            self.later(0.5, self.receive_failure, save, seat)
            return
        self.disk.setdefault(save.step, {})[seat] = (save.view, save.step)
        for _ in range(self.chance.choice([1, 1, 2, 3])):
            self.later(self.chance.choice([0.05, 0.5, 4.0]), self.receive, save, seat)

    def receive(self, save, seat):
        self.apply(self.gathering.arrived(save, described(save.step, seat, (save.view, save.step))))

    def receive_failure(self, save, seat):
        self.apply(self.gathering.failed(save, seat, "No space left on device"))

    def kill(self, seat, step, rest):
        """A seat dies in the middle of saving; a new view starts at the last commit and saves the same steps again."""
        self.faults += 1
        self.view += 1
        self.apply(self.gathering.enter_view(self.view))
        self.disk.clear()
        if rest > 1:
            newest = max((commit.save.step for commit in self.commits), default=0)
            self.later(0.2, self.save, min(newest + 10, step), rest - 1)

    def apply(self, actions):
        for action in actions:
            if isinstance(action, Commit):
                self.check_commit(action)
                self.commits.append(action)
                self.disk.pop(action.save.step)
            elif isinstance(action, Discard):
                self.discards.append(action)
                if action.save.view == self.view:
                    self.disk.pop(action.save.step, None)

    def check_commit(self, commit):
        """The checkers: of the view that acts, complete, of one save, on disk, and never twice."""
        save = commit.save
        assert save.view == self.view, self.replay()
        assert [shard.seat for shard in commit.shards] == list(range(self.seats)), self.replay()
        assert {shard.header_digest for shard in commit.shards} == {f"{(save.view, save.step)}"}, self.replay()
        assert set(self.disk[save.step].values()) == {(save.view, save.step)}, self.replay()
        assert save not in [each.save for each in self.commits], self.replay()

    def replay(self):
        return f"replay with World(seed={self.seed}).run()"


def test_no_schedule_commits_an_incomplete_or_mixed_set():
    commits = discards = faults = 0
    for seed in range(SCHEDULES):
        world = World(seed).run()
        commits += len(world.commits)
        discards += len(world.discards)
        faults += world.faults
    assert commits > 2 * SCHEDULES
    assert discards > SCHEDULES // 2
    assert faults > SCHEDULES // 2


@pytest.mark.parametrize("seed", range(20))
def test_without_faults_every_save_is_committed_whatever_the_order_of_messages(seed):
    world = World(seed, faulty=False).run()
    assert [commit.save.step for commit in sorted(world.commits, key=lambda each: each.save)] == [
        10 * number for number in range(1, 7)
    ]
    assert not world.discards
