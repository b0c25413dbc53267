import json

from observed_world import run_events

from stretto.observe.event import Event
from stretto.observe.json_lines import JsonLines
from stretto.observe.runs import compare_rows, read_runs, run_rows

JOB = (
    "model: {name: resnet, depth: 8}\ndata: digits\nstrategy: synchronous\ntraining: {lr: 0.1}\ncluster: {workers: 2}\n"
)
RESULT = {
    "status": "finished", "reason": "3ep", "steps": 36, "epochs": 3, "samples": 4608, "seconds": 72.4,
    "samples_per_s": 1204.3, "metrics": {"loss": 0.29, "accuracy": 0.98123}, "workers": 2, "sent_bytes": 123456,
    "best": {"step": 30, "metric": "accuracy", "value": 0.98123},
}  # fmt: skip


def make_run(folder, events=(), job=JOB, result=None):
    folder.mkdir(parents=True)
    (folder / "job.yaml").write_text(job)
    lines = JsonLines(folder / "events.jsonl")
    for event in events:
        lines.write(event)
    lines.close()
    if result is not None:
        (folder / "result.json").write_text(json.dumps(result))


def test_a_finished_run_is_one_line_of_the_list(tmp_path):
    make_run(tmp_path / "one", run_events(), result=RESULT)
    headings, line = run_rows(read_runs(tmp_path))
    assert dict(zip(headings, line, strict=True)) == {
        "run": "one", "status": "finished", "model": "resnet", "data": "digits", "strategy": "synchronous",
        "workers": "2", "steps": "36", "time": "1:12", "samples/s": "1,204", "metrics": "loss 0.2900  accuracy 0.9812",
    }  # fmt: skip


def test_a_run_without_a_result_is_told_by_its_events(tmp_path):
    make_run(tmp_path / "killed", run_events(steps=50))
    (run,) = read_runs(tmp_path)
    assert (run.status, run.result["steps"], run.metrics["accuracy"]) == ("unfinished", 50, 0.98123)


def test_a_run_that_failed_before_its_result_says_so(tmp_path):
    make_run(tmp_path / "failed", [Event(kind="run_started"), Event(kind="failed", values={"cause": "data"})])
    assert read_runs(tmp_path)[0].status == "failed"


def test_runs_are_listed_in_the_order_of_their_starts(tmp_path):
    for name, time_s in (("b", 1.0), ("a", 2.0)):
        make_run(tmp_path / name, [Event(kind="run_started", time_s=time_s)])
    assert [run.name for run in read_runs(tmp_path)] == ["b", "a"]


def test_damaged_files_and_other_folders_do_not_hide_the_rest(tmp_path):
    make_run(tmp_path / "sound", result=RESULT)
    make_run(tmp_path / "damaged", job="model: [", result=[1])
    (tmp_path / "damaged" / "events.jsonl").write_bytes(b"\x00\xff")
    (tmp_path / "other").mkdir()
    lines = {line[0]: line for line in run_rows(read_runs(tmp_path))[1:]}
    assert set(lines) == {"sound", "damaged"} and lines["damaged"][1] == "unfinished"


def test_no_folder_holds_no_runs(tmp_path):
    assert run_rows(read_runs(tmp_path / "nowhere")) == []


def test_a_run_can_be_handed_to_a_program(tmp_path):
    make_run(tmp_path / "one", result=RESULT)
    values = json.loads(json.dumps(read_runs(tmp_path)[0].values()))
    assert values["folder"] == str(tmp_path / "one") and values["result"]["steps"] == 36


def test_a_comparison_shows_only_the_keys_that_differ_and_all_figures(tmp_path):
    make_run(tmp_path / "one", result={**RESULT, "workers": 1, "seconds": 140.0})
    make_run(tmp_path / "two", job=JOB.replace("lr: 0.1", "lr: 0.2"), result=RESULT)
    rows = {row[0]: row[1:] for row in compare_rows(read_runs(tmp_path))}
    assert rows["run"] == ["one", "two"] and rows["training.lr"] == ["0.1000", "0.2000"] and "model.depth" not in rows
    assert rows["status"] == ["finished", "finished"] and rows["seconds"] == ["140.0", "72.40"]
    assert rows["accuracy"] == ["0.9812", "0.9812"] and rows["sent_bytes"] == ["123,456", "123,456"]
