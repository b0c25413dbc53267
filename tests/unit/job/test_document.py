"""Text to nodes: every value knows its place, and no text is a trap."""

import pytest

from stretto.errors import JobError
from stretto.job.document import read_document


def flaws(text):
    nodes = [node for _, node in read_document(text, "job.yaml").walk()]
    return [(flaw.place.line, flaw.message) for node in nodes for flaw in node.flaws]


def refusal(content):
    with pytest.raises(JobError) as refused:
        read_document(content, "job.yaml")
    (problem,) = refused.value.problems
    return problem.line, problem.message


def test_every_value_knows_its_line_and_column():
    root = read_document("a: 1\nb:\n  c: [2,\n    3]\n", "job.yaml")
    places = {path: (node.place.line, node.place.column) for path, node in root.walk()}
    assert places == {
        (): (1, 1),
        ("a",): (1, 1),
        ("b",): (2, 1),
        ("b", "c"): (3, 3),
        ("b", "c", 0): (3, 7),
        ("b", "c", 1): (4, 5),
    }
    assert root.plain() == {"a": 1, "b": {"c": [2, 3]}}


def test_quotes_make_a_text_of_anything():
    root = read_document("a: '1'\nb: \"true\"\nc: |\n  2024-01-01\nd: !!str 010\n", "job.yaml")
    assert root.plain() == {"a": "1", "b": "true", "c": "2024-01-01\n", "d": "010"}


def test_an_anchor_repeats_its_value_at_the_place_of_the_alias():
    root = read_document("a: &x {b: 1}\nc: *x\n", "job.yaml")
    assert root.plain() == {"a": {"b": 1}, "c": {"b": 1}}
    assert root.value["c"].place.line == 2


def test_a_key_given_twice_is_shown_at_the_second_and_names_the_first():
    assert flaws("a: 1\nb: 2\na: 3\n") == [(3, "is given twice, first in line 1; keep one")]


@pytest.mark.parametrize(
    ("text", "line", "fact"),
    [
        ("a: 1\nb: !!python/object/apply:os.system [ls]\n", 2, "the tag !!python/object/apply:os.system is refused"),
        ("a: !mine {x: 1}\n", 1, "the tag !mine is refused"),
        ("a: !!set {x, y}\n", 1, "the tag !!set is refused"),
        ("a: !!int x\n", 1, "the tag !!int is refused"),
        ("a: !!int true\n", 1, "the tag !!int is refused"),
        ("a: !!binary aGVsbG8=\n", 1, "the tag !!binary is refused"),
        ("a: *x\n", 1, "*x repeats nothing"),
        ("a: &x [*x]\n", 1, "*x stands inside what it repeats"),
        ("1: 2\n", 1, "1 cannot be a key"),
        ("null: 2\n", 1, "null cannot be a key"),
        ("[a]: 2\n", 1, "a list cannot be a key"),
        ("? {a: 1}\n: 2\n", 1, "a mapping cannot be a key"),
        ("2024-01-01: 2\n", 1, "is a date"),
        ("a:\n  - 010\n", 2, "begins with a zero"),
    ],
)
def test_a_value_that_cannot_be_used_is_a_flaw_at_its_line(text, line, fact):
    ((found_line, message),) = flaws(text)
    assert found_line == line
    assert fact in message


@pytest.mark.parametrize("text", ["!!int 3", "!!float 3", "!!map {}", "!!seq []", "! x", "!!null"])
def test_a_tag_that_only_repeats_the_type_does_no_harm(text):
    assert flaws(f"a: {text}\n") == []


@pytest.mark.parametrize(
    ("content", "line", "fact"),
    [
        (b"a: 1\nb: \xff\n", 2, "is not UTF-8"),
        ("a: 1\n".encode("utf-16"), 1, "is not UTF-8"),
        ("a: 1\n\nb: \0\n", 3, "U+0000 cannot stand"),
        ("a: \x1b[2J\n", 1, "U+001B cannot stand"),
        ("a: \ud800\n", 1, "U+D800 cannot stand"),
        ("a: 1\n---\nb: 2\n", 2, "a second document begins"),
        ("a:\n\tb: 1\n", 2, "indent with spaces, not tabs"),
        ("a: [1, 2\n", 1, "cannot be read as YAML"),
        ("a: 'x\n", 1, "cannot be read as YAML"),
        ("a: b: c\n", 1, "cannot be read as YAML"),
        ("%YAML 9.9\n---\na: 1\n", 1, "cannot be read as YAML"),
        ("a: " + "[" * 40 + "]" * 40, 1, "nested more than 24 deep"),
        ("[" * 100_000, 1, "nested more than 24 deep"),
        ("- " * 50_000, 1, "nested more than 24 deep"),
        ("x" * 300_000, 1, "more than a job has"),
        ("[" + "1," * 20_000 + "]", 1, "more than 10000"),
    ],
)
def test_a_text_that_is_no_job_is_refused_at_its_line(content, line, fact):
    found_line, message = refusal(content)
    assert found_line == line
    assert fact in message


def test_a_thousand_million_laughs_end_at_once():
    lines = ["a0: &a0 [lol, lol, lol, lol, lol, lol, lol, lol, lol]"]
    lines += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 12)]
    line, message = refusal("\n".join(lines))
    assert line <= 6
    assert "with all their repetitions" in message


def test_nothing_at_all_is_null():
    assert [read_document(text, "x").value for text in ("", "# only words\n", "---\n", "~")] == [None] * 4
