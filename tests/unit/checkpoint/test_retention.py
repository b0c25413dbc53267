"""Which checkpoints stay."""

from stretto.checkpoint.retention import to_delete


def test_the_last_few_stay():
    assert to_delete([100, 200, 300, 400], keep=2) == [100, 200]


def test_the_best_stays_however_old_it_is():
    assert to_delete([100, 200, 300, 400], keep=1, best=200) == [100, 300]


def test_the_best_among_the_last_takes_no_place_of_another():
    assert to_delete([100, 200, 300], keep=2, best=300) == [100]


def test_the_newest_stays_whatever_is_asked():
    assert to_delete([100, 200], keep=0) == [100]
    assert to_delete([], keep=3) == []


def test_order_and_repetition_do_not_matter():
    assert to_delete([300, 100, 300, 200], keep=1) == [100, 200]
