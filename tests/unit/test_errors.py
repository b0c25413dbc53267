"""The tree of errors: exit codes, and how what is wrong is said."""

import traceback

import pytest

from stretto import errors
from stretto.errors import AnswerFailed, JobError, MissingExtra, Problem, SeatFailed, StrettoError, choose, nearest


def every_class() -> list[type[StrettoError]]:
    return [each for each in vars(errors).values() if isinstance(each, type) and issubclass(each, StrettoError)]


def test_each_error_belongs_to_the_tree_and_has_an_exit_code_and_a_purpose():
    codes = {each.__name__: each.exit_code for each in every_class()}
    assert codes == {
        "StrettoError": 1,
        "JobError": 2,
        "MissingExtra": 2,
        "DataError": 2,
        "ModelError": 2,
        "SeatFailed": 3,
        "AnswerFailed": 3,
        "WorkersLost": 4,
        "PeerLost": 4,
        "WireError": 4,
        "Fenced": 4,
        "CheckpointError": 5,
        "Interrupted": 130,
    }
    assert all(each.__doc__ for each in every_class())


@pytest.mark.parametrize(
    ("problem", "line"),
    [
        (Problem(message="is wrong", file="job.yaml", line=7, key="strategy"), "job.yaml:7: strategy: is wrong"),
        (Problem(message="is wrong", file="job.yaml"), "job.yaml: is wrong"),
        (Problem(message="is wrong", key="training.lr"), "training.lr: is wrong"),
        (Problem(message="is wrong"), "is wrong"),
    ],
)
def test_a_problem_says_as_much_of_its_place_as_is_known(problem, line):
    assert str(problem) == line


def test_a_problem_stays_on_one_line_whatever_the_file_made_it_quote():
    assert str(Problem(message="two\nlines and \x1b[2J")) == "two\\nlines and \\x1b[2J"


def test_a_job_error_prints_one_line_per_problem():
    error = JobError([Problem(message="one"), Problem(message="two")])
    assert str(error) == "one\ntwo"
    assert [problem.message for problem in error.problems] == ["one", "two"]


def test_a_missing_package_names_the_command_that_installs_it():
    message = 'tensorboardX is not installed; run: pip install "stretto[track]"'
    assert str(MissingExtra("tensorboardX", "track")) == message


def test_a_failed_seat_keeps_the_traceback_it_came_with():
    error = SeatFailed(3, "worker", "out of memory", "Traceback …")
    assert str(error) == "worker 3 failed: out of memory"
    assert (error.seat, error.role, error.trace) == (3, "worker", "Traceback …")


def test_the_nearest_word_is_found_whatever_its_case_and_none_when_nothing_is_close():
    assert nearest("adamw", ["SGD", "AdamW"]) == "AdamW"
    assert nearest("zzz", ["SGD", "AdamW"]) is None


def test_an_unknown_word_is_refused_with_what_there_is_and_what_was_meant():
    known = ["synchronous", "local_sgd"]
    assert choose("strategy", "sync", known) == 'strategy "sync" is unknown; choose one of synchronous, local_sgd'
    assert choose("strategy", "local-sgd", known).endswith('(did you mean "local_sgd"?)')
    assert choose("", "x", known).startswith('"x" is unknown')


def test_what_failed_at_another_seat_ends_the_traceback_with_that_seats_own():
    error = AnswerFailed("ValueError: odd", "Traceback of the sampling node\nValueError: odd")
    assert (str(error), error.trace) == ("ValueError: odd", "Traceback of the sampling node\nValueError: odd")
    assert "".join(traceback.format_exception(error)).endswith("Traceback of the sampling node\nValueError: odd\n")
