"""The machine that decides when a checkpoint is complete."""

from stretto.checkpoint.gathering import Commit, Discard, Gathering, Save
from stretto.checkpoint.shard import Shard, shard_file

SAVE = Save(view=1, step=120)


def shard(seat, step=120, digest="a"):
    return Shard(step=step, seat=seat, file=shard_file(seat), header_bytes=64, header_digest=digest, tensors=())


def test_a_save_is_committed_when_the_last_shard_arrives_in_the_order_of_seats():
    gathering = Gathering(view=1)
    assert gathering.begin(SAVE, [0, 1]) == []
    assert gathering.arrived(SAVE, shard(1)) == []
    assert gathering.arrived(SAVE, shard(0)) == [Commit(save=SAVE, shards=(shard(0), shard(1)))]


def test_a_shard_may_arrive_before_this_seat_has_begun():
    gathering = Gathering(view=1)
    assert gathering.arrived(SAVE, shard(0)) == []
    assert gathering.begin(SAVE, [0]) == [Commit(save=SAVE, shards=(shard(0),))]


def test_what_is_said_twice_changes_nothing_and_commits_once():
    gathering = Gathering(view=1)
    gathering.begin(SAVE, [0, 1])
    assert gathering.arrived(SAVE, shard(0)) == gathering.arrived(SAVE, shard(0)) == []
    assert len(gathering.arrived(SAVE, shard(1))) == 1
    assert gathering.arrived(SAVE, shard(1)) == gathering.begin(SAVE, [0, 1]) == []


def test_two_different_shards_of_one_seat_end_the_save():
    gathering = Gathering(view=1)
    gathering.begin(SAVE, [0, 1])
    gathering.arrived(SAVE, shard(0))
    (action,) = gathering.arrived(SAVE, shard(0, digest="b"))
    assert action == Discard(save=SAVE, reason="seat 0 described two different shards of step 120")


def test_a_shard_of_another_step_or_of_a_stranger_ends_the_save():
    for wrong in (shard(0, step=110), shard(7)):
        gathering = Gathering(view=1)
        gathering.begin(SAVE, [0])
        actions = gathering.arrived(SAVE, wrong) + gathering.arrived(SAVE, shard(0))
        assert [type(action) for action in actions] == [Discard]


def test_a_seat_that_could_not_write_ends_the_save_and_the_next_one_goes_well():
    gathering = Gathering(view=1)
    gathering.begin(SAVE, [0])
    assert gathering.failed(SAVE, 1, "disk full") == [Discard(save=SAVE, reason="seat 1: disk full")]
    assert gathering.arrived(SAVE, shard(0)) == gathering.failed(SAVE, 1, "disk full") == []
    following = Save(view=1, step=130)
    gathering.begin(following, [0])
    assert [type(action) for action in gathering.arrived(following, shard(0, step=130))] == [Commit]


def test_a_slow_seat_does_not_keep_later_saves_from_being_collected():
    gathering = Gathering(view=1)
    later = Save(view=1, step=130)
    gathering.begin(SAVE, [0, 1])
    gathering.begin(later, [0, 1])
    gathering.arrived(later, shard(0, step=130))
    gathering.arrived(SAVE, shard(0))
    assert gathering.waiting_for(SAVE) == gathering.waiting_for(later) == {1}
    assert gathering.arrived(SAVE, shard(1))[0].save == SAVE
    assert gathering.arrived(later, shard(1, step=130))[0].save == later


def test_a_new_view_ends_the_saves_of_the_old_one_and_refuses_what_still_comes_of_it():
    gathering = Gathering(view=1)
    gathering.begin(SAVE, [0, 1])
    (action,) = gathering.enter_view(2)
    assert action == Discard(save=SAVE, reason="view 1 ended before every seat had written")
    again = Save(view=2, step=120)
    gathering.begin(again, [0, 1])
    gathering.arrived(again, shard(0))
    assert gathering.arrived(SAVE, shard(1)) == []
    assert gathering.waiting_for(again) == {1}
    assert gathering.enter_view(1) == []
