"""What the documents say is true: code runs, jobs can be read, commands exist, links lead somewhere.

The blocks of a document are a story, told in their order in one empty folder. What stands behind the language matters:

    python                  runs; blocks that follow one another share their names
    python file=mine.py     is written to that file, for blocks further down
    python no-run REASON    is not run, for that reason
    yaml                    is read as a job if it looks like one; file=job.yaml writes it, too
    bash                    every `stretto …` is checked: the command, its options, the keys it changes
    bash run                the same, and it is run
    bash wrong              holds a mistake that Stretto finds

Importing torch takes seconds, so every story is told by a process forked from this one, which has imported it. What a
story trains by command is trained by the engine inline; what it trains by `fit`, or by a script, by processes.
"""

from __future__ import annotations

import os
import re
import runpy
import shlex
import signal
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from itertools import groupby
from pathlib import Path

import click
import pytest
import yaml

from stretto import cli
from stretto.errors import JobError
from stretto.job import read_job
from stretto.launch.environment import seat_environment
from stretto.launch.forked import fork
from stretto.run.launching import PRELOAD

ROOT = Path(__file__).resolve().parents[2]
ENGLISH, CHINESE = ROOT / "README.md", ROOT / "README.zh-CN.md"
DOCUMENTS = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
OWN_LOOP = ROOT / "examples" / "own_loop.py"
EXAMPLES = [OWN_LOOP, ROOT / "examples" / "fit.py", ROOT / "examples" / "callback.py"]
FENCE = re.compile(r"^```(\w+)([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\(([^)\s]+)\)")
SMALLEST_JOB = "model: mlp\ndata: digits\ntask: classification\n"
WITH_OVERRIDES = {"train", "check", "resume", "evaluate"}
TRAINING = {"train", "resume"}


@dataclass(frozen=True, slots=True)
class Block:
    """A fenced block: its language, the words behind it, its text."""

    language: str
    words: tuple[str, ...]
    text: str

    @property
    def file(self) -> str | None:
        return next((word.removeprefix("file=") for word in self.words if word.startswith("file=")), None)

    @property
    def kind(self) -> str:
        """What is done with the block in the document's story."""
        if self.file:
            return "written"
        if self.language == "python" and "no-run" not in self.words:
            return "python"
        return "bash" if self.language == "bash" and "run" in self.words else "passed over"


def blocks(document: Path) -> list[Block]:
    found = FENCE.findall(document.read_text(encoding="utf-8"))
    return [Block(language, tuple(words.split()), text) for language, words, text in found]


def commands(text: str) -> Iterator[list[str]]:
    """The words behind `stretto` in every line that calls it."""
    for line in text.splitlines():
        words = shlex.split(line.partition(" > ")[0], comments=True)
        if words[:3] == ["python", "-m", "stretto"]:
            yield words[3:]
        elif words[:1] == ["stretto"]:
            yield words[1:]


def tells(*kinds: str) -> list[Path]:
    """Documents that have such blocks; the Chinese README has the same ones as the English."""
    return [each for each in DOCUMENTS if each != CHINESE and any(block.kind in kinds for block in blocks(each))]


def named(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.fixture(scope="module", autouse=True)
def imported_ahead() -> None:
    """What every forked process would import, imported once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        for module in (*PRELOAD, "sklearn.datasets", "stretto.run.judging"):
            import_module(module)


def forked(act: Callable[[], object], folder: Path) -> int:
    """Begin a process that does this in that folder, as a program started there; its screen goes into a file."""
    child = fork()
    if child:
        return child
    code = 1
    try:
        os.setpgid(0, 0)
        with (folder / "screen.txt").open("ab") as screen:
            os.dup2(screen.fileno(), 1)
            os.dup2(screen.fileno(), 2)
        sys.stdout, sys.stderr = (os.fdopen(number, "w", buffering=1, closefd=False) for number in (1, 2))
        os.chdir(folder)
        sys.path.insert(0, str(folder))
        os.sched_getaffinity = lambda _: {0}  # one thread per worker: tests share the cores
        act()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)


def finish(children: list[int]) -> list[int]:
    """Wait for processes; none of them outlives this."""
    try:
        return [os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) for child in children]
    finally:
        for child in children:
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)


def run(act: Callable[[], object], folder: Path) -> str:
    """Do this in a process of its own; return what was on its screen."""
    codes = finish([forked(act, folder)])
    screen = (folder / "screen.txt").read_text(encoding="utf-8")
    assert codes == [0], screen[-4000:]
    return screen


def start_script(script: Path, workers: int) -> None:
    """Start a script as `torchrun` and `stretto run` do, but from this process, which has torch already."""
    from torch import distributed

    store = distributed.TCPStore("127.0.0.1", 0, is_master=True, wait_for_workers=False)
    os.environ |= {"MASTER_PORT": str(store.port), "TORCHELASTIC_USE_AGENT_STORE": "True"}

    def be(rank: int) -> None:
        os.environ |= seat_environment(
            run_id="story",
            view=1,
            restarts=0,
            rank=rank,
            size=workers,
            local_rank=rank,
            local_size=workers,
            threads=1,
        )
        runpy.run_path(str(script), run_name="__main__")
        if distributed.is_initialized():
            distributed.destroy_process_group()

    assert finish([forked(partial(be, rank), Path.cwd()) for rank in range(workers)]) == [0] * workers


def command(words: list[str]) -> None:
    """Run a command here."""
    if words[0] == "run":
        script, number, _ = cli._script_words(words[1:], 1)
        start_script(Path(script), number)
        return
    try:
        cli.main([*words, *(["engine=inline"] if words[0] in TRAINING else [])])
    except SystemExit as end:
        assert not end.code, f"stretto {shlex.join(words)} ended with {end.code}"


def tell(document: Path) -> None:
    """Do in the working folder what the document tells."""
    for kind, group in groupby(blocks(document), key=lambda block: block.kind):
        texts = list(group)
        if kind == "python":
            text = "\n".join(block.text for block in texts)
            exec(compile(text, named(document), "exec"), {"__name__": "__main__"})
        elif kind == "bash":
            for words in commands("".join(block.text for block in texts)):
                command(words)
        elif kind == "written":
            for block in texts:
                Path(str(block.file)).write_text(block.text, encoding="utf-8")


@pytest.mark.parametrize("document", tells("python", "bash"), ids=named)
def test_the_story_that_a_document_tells_works(document: Path, tmp_path: Path) -> None:
    run(partial(tell, document), tmp_path)


@pytest.mark.parametrize("document", tells("bash"), ids=named)
def test_only_commands_of_ours_are_run(document: Path) -> None:
    for block in blocks(document):
        if block.kind == "bash":
            assert len(list(commands(block.text))) == len(block.text.splitlines()), block.text


@pytest.mark.parametrize("document", tells("written"), ids=named)
def test_what_a_document_writes_is_used_further_down(document: Path) -> None:
    told = blocks(document)
    for index, block in enumerate(told):
        if block.file:
            later = "\n".join(each.text for each in told[index + 1 :] if each.kind != "passed over")
            assert block.file in later or f"{Path(block.file).stem}:" in later, f"nothing runs {block.file}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_code_that_is_not_run_says_why(document: Path) -> None:
    for block in blocks(document):
        if "no-run" in block.words:
            assert block.words.index("no-run") < len(block.words) - 1, f"give the reason behind no-run: {block.text}"


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_every_job_can_be_read(document: Path) -> None:
    for block in blocks(document):
        if block.language == "yaml" and {"model", "data", "task"} <= (yaml.safe_load(block.text) or {}).keys():
            read_job("job.yaml", text=block.text)


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_every_command_is_one(document: Path) -> None:
    for block in blocks(document):
        if block.language == "bash":
            for words in commands(block.text):
                if "wrong" in block.words:
                    with pytest.raises(JobError):
                        check(words)
                else:
                    check(words)


def check(words: list[str]) -> None:
    """Let click read a command without running it, and the job read the keys it changes."""
    command: click.Command = cli.stretto
    while isinstance(command, click.Group):
        assert words and words[0] in command.commands, f"there is no command {words}"
        name, *words = words
        command = command.commands[name]
    try:
        parameters = command.make_context(str(command.name), list(words)).params
    except click.BadParameter as error:
        assert isinstance(error.param, click.Argument) and isinstance(error.param.type, click.Path), error
        return  # a folder that only this document's reader has
    if command.name in WITH_OVERRIDES:
        read_job("job.yaml", parameters["overrides"], text=SMALLEST_JOB)


@pytest.mark.parametrize("document", DOCUMENTS, ids=named)
def test_every_link_leads_somewhere(document: Path) -> None:
    text = FENCE.sub("", document.read_text(encoding="utf-8"))
    for link in LINK.findall(text):
        if not link.startswith(("http://", "https://", "#")):
            assert (document.parent / link.partition("#")[0]).exists(), f"{named(document)} links to {link}"


def test_every_page_can_be_reached_from_the_index() -> None:
    index = ROOT / "docs" / "index.md"
    linked = {(index.parent / link).resolve() for link in LINK.findall(index.read_text(encoding="utf-8"))}
    missing = [named(page) for page in DOCUMENTS if page.parent != ROOT and page != index and page not in linked]
    assert not missing


def test_both_readmes_have_the_same_headings_and_the_same_code() -> None:
    headings = [re.findall(r"^#+ ", each.read_text(encoding="utf-8"), re.MULTILINE) for each in (ENGLISH, CHINESE)]
    assert headings[0] == headings[1]
    assert blocks(ENGLISH) == blocks(CHINESE)


def test_a_loop_of_ones_own_needs_at_most_three_added_lines() -> None:
    plain, spread = [block.text.splitlines() for block in blocks(ENGLISH) if "for epoch in range" in block.text]
    added = [line for line in spread if line.endswith("# added")]
    assert [line for line in spread if line not in added] == plain
    assert len(added) <= 3
    example = OWN_LOOP.read_text(encoding="utf-8").splitlines()
    assert len([line for line in example if line.endswith("# added")]) == len(added)


@pytest.mark.parametrize("job", sorted((ROOT / "examples" / "jobs").glob("*.yaml")), ids=named)
def test_every_example_job_can_be_read(job: Path) -> None:
    read_job(job)


@pytest.mark.parametrize("example", EXAMPLES, ids=named)
def test_every_example_runs(example: Path, tmp_path: Path) -> None:
    assert "accuracy 0.9" in run(partial(runpy.run_path, str(example), run_name="__main__"), tmp_path)


def test_the_example_of_a_loop_of_ones_own_runs_on_two_workers_and_prints_once(tmp_path: Path) -> None:
    assert run(partial(start_script, OWN_LOOP, 2), tmp_path).count("accuracy 0.9") == 1
