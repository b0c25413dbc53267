"""Job files as carelessness and malice make them: each is a job, or is refused at a line; never anything else.

The corpus is made from the examples by a fixed seed, so that it is the same on every machine; hypothesis then goes on
where the corpus ends.
"""

import pathlib
import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from stretto.errors import JobError
from stretto.job import Job, read_job

EXAMPLES = {
    path.stem: path.read_text("utf-8")
    for path in sorted((pathlib.Path(__file__).parents[2] / "examples" / "jobs").glob("*.yaml"))
}
WORDS = """
    3 -1 0 1.5 1e999 .nan .inf -.inf 010 0x1F 0b1 1_000 1:30 2024-01-01 on off yes no null ~ true "" "3" 'x' x
    [] {} [1] [[]] !!python/object/apply:os.system[ls] !!python/name:os.system !!int !mine !!binary * *a &a & ? : - | >
    % @ ` " ' # , [ ] { } 99999999999999999999999999999 3ep 3epochs os:system a:b :b a: <<
"""
VALUES = [*WORDS.split(), "{a: 1}", "{name: x}", "{name: 3}"]
TAGS = [
    "!!python/object:os.system",
    "!!python/name:os.system ",
    "!mine",
    "!!set",
    "!!timestamp",
    "!!bool",
    "!<x>",
    "!!",
]
CHARACTERS = ["\0", "\t", "\r", "\x1b", "\u2028", "\ufeff", "\x7f", "\n", ":", "\x85"]
BYTES = [b"\xff", b"\xc3", b"\xed\xa0\x80", *map(str.encode, CHARACTERS)]


def read(content: bytes, path: pathlib.Path) -> Job | None:
    """The job, or None where it was refused properly; anything else fails the test."""
    path.write_bytes(content)
    try:
        return read_job(path)
    except JobError as error:
        lines = max(1, len(re.split(rb"\r\n|\r|\n", content)))
        assert error.problems
        for problem in error.problems:
            assert problem.file == str(path)
            assert problem.line is not None, str(problem)
            assert 1 <= problem.line <= lines or "\u2028".encode() in content or b"\xc2\x85" in content, str(problem)
            assert problem.message
            assert len(str(problem).splitlines()) == 1
            assert "pydantic" not in str(problem)
        assert [problem.line for problem in error.problems] == sorted(problem.line for problem in error.problems)
        return None


def without_a_line(lines: list[str], at: int, chance: random.Random) -> list[str]:
    return lines[:at] + lines[at + 1 :]


def with_a_line_twice(lines: list[str], at: int, chance: random.Random) -> list[str]:
    return lines[: at + 1] + lines[at:]


def with_lines_exchanged(lines: list[str], at: int, chance: random.Random) -> list[str]:
    other = chance.randrange(len(lines))
    lines[at], lines[other] = lines[other], lines[at]
    return lines


def with_another_value(lines: list[str], at: int, chance: random.Random) -> list[str]:
    lines[at] = f"{lines[at].partition(':')[0]}: {chance.choice(VALUES)}"
    return lines


def with_a_misspelt_key(lines: list[str], at: int, chance: random.Random) -> list[str]:
    where = chance.randrange(len(lines[at]) + 1)
    lines[at] = lines[at][:where] + chance.choice("abxyz_-.") + lines[at][where + 1 :]
    return lines


def with_a_tag(lines: list[str], at: int, chance: random.Random) -> list[str]:
    key, colon, value = lines[at].partition(":")
    lines[at] = f"{key}{colon or ':'} {chance.choice(TAGS)} {value}"
    return lines


def with_another_indentation(lines: list[str], at: int, chance: random.Random) -> list[str]:
    lines[at] = chance.choice(["", " ", "   ", "\t", "      "]) + lines[at].lstrip()
    return lines


def with_a_strange_byte(content: bytes, chance: random.Random) -> bytes:
    where = chance.randrange(len(content))
    return content[:where] + chance.choice(BYTES) + content[where:]


def with_a_flipped_bit(content: bytes, chance: random.Random) -> bytes:
    where = chance.randrange(len(content))
    return content[:where] + bytes([content[where] ^ 1 << chance.randrange(8)]) + content[where + 1 :]


def cut_short(content: bytes, chance: random.Random) -> bytes:
    return content[: chance.randrange(len(content))]


def twice(content: bytes, chance: random.Random) -> bytes:
    return content + chance.choice([b"---\n", b"...\n", b"", b"- "]) + content


OF_LINES = (
    without_a_line,
    with_a_line_twice,
    with_lines_exchanged,
    with_another_value,
    with_a_misspelt_key,
    with_a_tag,
    with_another_indentation,
)
OF_BYTES = (with_a_strange_byte, with_a_flipped_bit, cut_short, twice)


def mutated(text: str, mutation, chance: random.Random) -> bytes:
    if mutation in OF_BYTES:
        return mutation(text.encode(), chance)
    lines = text.splitlines()
    meaningful = [at for at, line in enumerate(lines) if line and not line.startswith("#")]
    return "\n".join(mutation(lines, chance.choice(meaningful), chance)).encode()


def corpus(mutation) -> set[bytes]:
    files = set()
    for name, text in EXAMPLES.items():
        chance = random.Random(f"{mutation.__name__} of {name}")
        files |= {mutated(text, mutation, chance) for _ in range(20)}
    return files


def test_the_corpus_has_some_hundred_files_and_no_two_are_equal():
    assert len(set().union(*map(corpus, (*OF_LINES, *OF_BYTES)))) >= 400


@pytest.mark.parametrize("mutation", [*OF_LINES, *OF_BYTES], ids=lambda mutation: mutation.__name__)
def test_a_mutated_example_is_a_job_or_is_refused_at_a_line(mutation, tmp_path):
    for content in corpus(mutation):
        read(content, tmp_path / "job.yaml")


def test_every_beginning_of_an_example_is_a_job_or_is_refused_at_a_line(tmp_path):
    content = EXAMPLES["digits"].encode()
    for length in range(0, len(content), 3):
        read(content[:length], tmp_path / "job.yaml")


def test_every_value_in_every_place_is_taken_or_refused_at_a_line(tmp_path):
    lines = EXAMPLES["local_sgd"].splitlines()
    for at, line in enumerate(lines):
        if ":" in line and not line.startswith("#"):
            for value in VALUES:
                text = "\n".join([*lines[:at], f"{line.partition(':')[0]}: {value}", *lines[at + 1 :]])
                read(text.encode(), tmp_path / "job.yaml")


def test_several_mistakes_in_one_file_are_each_found(tmp_path):
    text = EXAMPLES["local_sgd"].replace("batch: 64", "batch: many").replace("until: 10ep", "untill: 10ep")
    text = text.replace("workers: 2", "workers: 0").replace("local_sgd, interval", "local_sgd, intervall")
    with pytest.raises(JobError) as refused:
        read_job("job.yaml", text=text)
    keys = [problem.key for problem in refused.value.problems]
    assert keys == ["training.batch", "training.untill", "cluster.workers", "strategy.intervall"]


@settings(max_examples=400, deadline=None, derandomize=True)
@given(
    name=some.sampled_from(sorted(EXAMPLES)),
    seed=some.integers(0, 2**32),
    mutations=some.lists(some.sampled_from([*OF_LINES, *OF_BYTES]), min_size=1, max_size=4),
)
def test_many_mutations_at_once_are_refused_as_well(name, seed, mutations, tmp_path_factory):
    text, chance = EXAMPLES[name], random.Random(seed)
    for mutation in mutations:
        if re.search(r"^[^#\n]", text, re.MULTILINE):
            text = mutated(text, mutation, chance).decode("utf-8", errors="replace")
    read(text.encode(), tmp_path_factory.getbasetemp() / "hostile.yaml")


@settings(max_examples=400, deadline=None, derandomize=True)
@given(content=some.binary(max_size=60) | some.text("ab:-[]{}&*!|>'\"%@#,?~\n\t 01.", max_size=60).map(str.encode))
def test_noise_is_refused_at_a_line(content, tmp_path_factory):
    assert read(content, tmp_path_factory.getbasetemp() / "noise.yaml") is None
