"""The rendezvous board: who waits is answered when the key comes, or when the time is over."""

from __future__ import annotations

import subprocess
import sys

import pytest

from stretto.communicate.control import Peer
from stretto.communicate.messages import (
    Answer,
    Hello,
    StoreAdd,
    StoreCheck,
    StoreCompareSet,
    StoreCount,
    StoreDelete,
    StoreSet,
    StoreWait,
)
from stretto.communicate.rendezvous import Board


def worker(number, view=1):
    return Peer(number, Hello(role="worker", slot=number, pid=1, view=view))


ANN, BOB = worker(1), worker(2)


@pytest.fixture
def board():
    board = Board()
    board.begin(1)
    return board


def ask(board, request, peer=ANN, now_s=0.0):
    return board.on_request(peer, request, now_s)


def test_what_is_there_is_given_at_once(board):
    assert ask(board, StoreSet(request=1, key="a", value=b"x")) == [(ANN, Answer(request=1))]
    wait = StoreWait(request=2, keys=("a",), timeout_s=9.0)
    assert ask(board, wait, BOB) == [(BOB, Answer(request=2, values=(b"x",)))]


def test_who_waits_for_several_keys_is_answered_when_the_last_one_comes(board):
    assert ask(board, StoreWait(request=5, keys=("a", "b"), timeout_s=9.0), BOB) == []
    assert ask(board, StoreSet(request=1, key="a", value=b"x")) == [(ANN, Answer(request=1))]
    letters = ask(board, StoreSet(request=2, key="b", value=b"y"))
    assert letters == [(ANN, Answer(request=2)), (BOB, Answer(request=5, values=(b"x", b"y")))]
    assert board.on_tick(100.0) == []


def test_waiting_ends_when_its_time_is_over(board):
    ask(board, StoreWait(request=5, keys=("a",), timeout_s=2.0), now_s=10.0)
    assert board.on_tick(11.9) == []
    assert board.on_tick(12.0) == [(ANN, Answer(request=5, found=False))]
    assert board.on_tick(13.0) == []


def test_a_counter_counts_and_can_be_waited_for(board):
    ask(board, StoreWait(request=5, keys=("n",), timeout_s=9.0), BOB)
    letters = ask(board, StoreAdd(request=1, key="n", amount=2))
    assert letters == [(ANN, Answer(request=1, number=2)), (BOB, Answer(request=5, values=(b"2",)))]
    assert ask(board, StoreAdd(request=2, key="n", amount=-5))[0][1].number == -3


def test_a_key_is_set_only_if_it_has_the_expected_value(board):
    def attempt(expected, value):
        return ask(board, StoreCompareSet(key="a", expected=expected, value=value))[0][1].values[0]

    assert attempt(b"other", b"x") == b"other"
    assert attempt(b"", b"x") == b"x"
    assert attempt(b"other", b"y") == b"x"
    assert attempt(b"x", b"y") == b"y"


def test_keys_can_be_checked_counted_and_forgotten(board):
    ask(board, StoreSet(key="a", value=b"x"))
    assert ask(board, StoreCheck(keys=("a", "b")))[0][1].found is False
    assert ask(board, StoreCheck(keys=("a",)))[0][1].found is True
    assert ask(board, StoreCount())[0][1].number == 1
    assert ask(board, StoreDelete(key="a"))[0][1].found is True
    assert ask(board, StoreDelete(key="a"))[0][1].found is False


def test_a_new_view_begins_with_nothing_and_the_old_one_is_not_heard(board):
    ask(board, StoreSet(key="a", value=b"old"))
    ask(board, StoreWait(request=7, keys=("b",), timeout_s=1.0))
    board.begin(2)
    assert ask(board, StoreSet(key="b", value=b"late"), ANN) == []
    assert ask(board, StoreCount(), worker(3, view=2))[0][1].number == 0
    assert board.on_tick(100.0) == []


def test_who_has_gone_is_not_answered(board):
    ask(board, StoreWait(request=7, keys=("b",), timeout_s=1.0))
    board.forget(ANN)
    assert ask(board, StoreSet(request=1, key="b", value=b"x"), BOB) == [(BOB, Answer(request=1))]


def test_the_board_needs_no_torch():
    code = "import sys, stretto.communicate.rendezvous, stretto.roles.coordinator; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
