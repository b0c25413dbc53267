"""Items are made ahead by a thread that ends when nobody wants them, and whose errors are not lost."""

import gc
import itertools
import threading
import traceback

import pytest

from stretto.data.prefetch import Prefetch


def alive():
    return [thread for thread in threading.enumerate() if thread.name == "stretto-prefetch"]


def joined(prefetch):
    prefetch._thread.join(5)
    return not prefetch._thread.is_alive()


def test_items_come_in_order_and_end():
    assert list(Prefetch(range(50), depth=3)) == list(range(50))
    assert list(Prefetch([], depth=1)) == []


def test_no_more_is_made_ahead_than_asked_for():
    made, room = [], threading.Semaphore(0)

    def make():
        for number in range(20):
            made.append(number)
            room.release()
            yield number

    with Prefetch(make(), depth=3) as items:
        for _ in range(4):  # three on the shelf, one in the hand
            assert room.acquire(timeout=5)
        assert not room.acquire(timeout=0.05)
        assert next(items) == 0
        assert room.acquire(timeout=5)
        assert len(made) == 5


def test_an_error_comes_after_the_items_before_it_with_its_own_traceback():
    def make():
        yield 1
        read_a_record_that_is_broken()

    def read_a_record_that_is_broken():
        raise OSError("record 7 is broken")

    items = Prefetch(make(), depth=5)
    assert next(items) == 1
    with pytest.raises(OSError, match="record 7 is broken") as caught:
        next(items)
    assert "read_a_record_that_is_broken" in "".join(traceback.format_tb(caught.value.__traceback__))
    assert joined(items)


def test_closing_ends_an_endless_thread_at_once():
    items = Prefetch(itertools.count(), depth=2)
    next(items)
    items.close()
    assert not items._thread.is_alive()
    assert list(items) == []
    items.close()


def test_leaving_a_with_block_ends_the_thread():
    with Prefetch(itertools.count(), depth=2) as items:
        next(items)
    assert not items._thread.is_alive()


def test_forgetting_the_items_ends_the_thread():
    items = Prefetch(itertools.count(), depth=2)
    thread = items._thread
    del items
    gc.collect()
    thread.join(5)
    assert not thread.is_alive()


def test_an_item_that_was_taken_belongs_to_its_user_alone():
    class Item:
        pass

    import weakref

    with Prefetch((Item() for _ in range(3)), depth=1) as items:
        reference = weakref.ref(next(items))
        next(items)
        gc.collect()
        assert reference() is None
