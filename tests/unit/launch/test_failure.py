"""Why a worker failed, in words."""

from __future__ import annotations

import errno
import json

import pytest

from stretto.errors import CheckpointError, DataError, PeerLost
from stretto.launch.failure import cause_of, explain_failure


class OutOfMemoryError(RuntimeError):
    """Named as torch's."""


class DistNetworkError(RuntimeError):
    """Named as torch's."""


@pytest.mark.parametrize(
    ("error", "cause"),
    [
        (MemoryError(), "out of memory"),
        (OutOfMemoryError("CUDA"), "out of memory"),
        (RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 4 bytes"), "out of memory"),
        (RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory"), "out of memory"),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "out of memory"),
        (DataError("record 3 is corrupt"), "data"),
        (CheckpointError("nothing usable"), "disk"),
        (OSError(errno.ENOSPC, "No space left on device"), "disk"),
        (PeerLost("seat 3 has gone"), "network"),
        (ConnectionResetError("reset"), "network"),
        (DistNetworkError("no"), "network"),
        (RuntimeError("[pair.cc:534] Connection closed by peer [127.0.0.1]:4242"), "network"),
        (RuntimeError("mat1 and mat2 shapes cannot be multiplied"), "user's code"),
        (ValueError("connection reset by peer"), "user's code"),
        (KeyboardInterrupt(), "user's code"),
        (SystemExit(3), "user's code"),
        (FileNotFoundError(errno.ENOENT, "no"), "user's code"),
    ],
)
def test_the_cause_is_named(error, cause):
    assert cause_of(error) == cause


def caught(act):
    try:
        act()
    except Exception as error:
        return explain_failure(error)
    raise AssertionError("nothing was raised")


def test_the_sentence_names_the_innermost_line_that_is_the_users_own():
    failed = caught(lambda: json.loads("{"))
    assert failed.words.startswith("JSONDecodeError: Expecting property name")
    assert "test_failure.py:" in failed.words
    assert "decoder.py" in failed.trace
    assert not failed.collateral


def test_a_lost_peer_is_collateral():
    def lose():
        raise PeerLost("seat 3 has gone")

    assert caught(lose).collateral


def test_the_trace_ends_with_the_error_itself():
    def fail():
        raise ValueError("at last")

    assert caught(fail).trace.splitlines()[-1] == "ValueError: at last"


def test_an_endless_message_is_cut():
    failed = explain_failure(ValueError("x" * 10_000_000))
    assert len(failed.words) + len(failed.trace) < 600_000
    assert failed.trace.endswith("xxx\n")


def test_an_error_that_was_never_raised_has_no_place():
    assert explain_failure(ValueError("no place")).words == "ValueError: no place"
