"""Tables as sources: the same rows whatever the format, and damaged rows told by name and place."""

import random
import sys
import threading
from contextlib import suppress

import numpy as np
import pyarrow
import pytest
import torch
from data_world import flowers, resident_bytes, write_table
from pyarrow import parquet as parquet_files

from stretto.data.damage import DamagedSamples
from stretto.data.sources.arrow import ArrowTables, arrow
from stretto.data.sources.columns import Columns
from stretto.data.sources.csv import CsvTables, csv
from stretto.data.sources.parquet import ParquetTables, parquet
from stretto.data.sources.recent import Recent
from stretto.data.sources.table import Table
from stretto.errors import DataError, MissingExtra

FORMATS = {".parquet": parquet, ".arrow": arrow, ".arrows": arrow, ".feather": arrow, ".csv": csv, ".tsv": csv}
KINDS = {".parquet": ParquetTables, ".arrow": ArrowTables, ".feather": ArrowTables, ".csv": CsvTables}


@pytest.fixture(params=FORMATS, ids=str)
def ending(request):
    return request.param


def both(opened):
    """All rows of a pair of sources, inputs beside targets."""
    batches = [source.read(range(len(source))) for source in opened]
    rows = torch.cat([batch.inputs for batch in batches]), torch.cat([batch.targets for batch in batches])
    return sorted(zip(rows[0].tolist(), rows[1].tolist(), strict=True))


def test_every_row_is_there_once_whatever_the_format(tmp_path, ending):
    path = write_table(tmp_path / f"flowers{ending}", flowers(21))
    opened = FORMATS[ending](path, "kind", share=0.3)
    assert [len(source) for source in opened] == [15, 6]
    assert both(opened) == [([float(number), number + 100.0], number % 3) for number in range(21)]
    assert opened[0].facts == {"shape": (2,), "features": 2, "outputs": 3, "classes": 3}
    assert opened[0].read([0]).inputs.dtype == torch.float32


def test_words_are_classes_in_the_order_of_the_alphabet(tmp_path, ending):
    path = write_table(tmp_path / f"flowers{ending}", flowers())
    training, _ = FORMATS[ending](path, "name", inputs=["width"])
    batch = training.read(range(len(training)))
    names = [("rose", "tulip", "lily")[int(width) % 3] for width in batch.inputs[:, 0]]
    assert [("lily", "rose", "tulip")[place] for place in batch.targets.tolist()] == names
    assert training.facts["classes"] == 3
    assert training.labels().tolist() == batch.targets.tolist()


def test_other_numbers_are_learnt_as_they_are(tmp_path, ending):
    path = write_table(tmp_path / f"flowers{ending}", flowers(size=np.arange(12) + 0.5))
    training, _ = FORMATS[ending](path, "size", inputs=["height"])
    batch = training.read([1, 2])
    assert (batch.targets + 99.5).tolist() == batch.inputs[:, 0].tolist()
    assert training.facts == {"shape": (1,), "features": 1, "outputs": 1}
    with pytest.raises(DataError, match='the numbers in column "size" are no classes'):
        training.labels()


def test_several_files_are_one_set_and_validation_may_have_its_own(tmp_path, ending):
    for number in (2, 0, 1):
        write_table(tmp_path / "train" / f"part-{number}{ending}", flowers(6, width=np.full(6, number, dtype="f4")))
    (tmp_path / "train" / "_SUCCESS").write_text("")
    (tmp_path / "train" / f"_hidden{ending}").write_text("no table")
    words = write_table(tmp_path / f"validation{ending}", flowers(4, name=["orchid"] * 4))
    for named in (tmp_path / "train", tmp_path / "train" / f"part-*{ending}"):
        training, validation = FORMATS[ending](str(named), "name", ["width"], words)
        assert training.read([0, 6, 12]).inputs.tolist() == [[0], [1], [2]]
        assert validation.read([3]).targets.tolist() == [1]  # of lily, orchid, rose, tulip
        assert training.facts["classes"] == validation.facts["classes"] == 4
    listed = [str(tmp_path / "train" / f"part-{number}{ending}") for number in (2, 0)]
    assert FORMATS[ending](listed, "kind", validation_files=words)[0].read([0, 6]).inputs[:, 0].tolist() == [2, 0]


def test_files_behind_an_address_are_read_like_those_on_a_disk(tmp_path, ending):
    import fsspec

    path = write_table(tmp_path / f"flowers{ending}", flowers())
    with fsspec.open(f"memory://shelf{tmp_path}/flowers{ending}", "wb") as file:
        file.write((tmp_path / f"flowers{ending}").read_bytes())
    far = FORMATS[ending](f"memory://shelf{tmp_path}/*{ending}", "kind")
    assert both(far) == both(FORMATS[ending](path, "kind"))


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".arrows"])
def test_vectors_booleans_decimals_and_dictionaries_are_numbers_and_words_too(tmp_path, ending):
    vectors = pyarrow.FixedSizeListArray.from_arrays(pyarrow.array(range(24), pyarrow.uint8()), 2)
    nested = pyarrow.FixedSizeListArray.from_arrays(vectors, 3)
    table = pyarrow.table(
        {
            "pixels": nested,
            "flag": [True, False, True, False],
            "price": pyarrow.array([1, 2, 3, 4], pyarrow.decimal128(9, 2)),
            "word": pyarrow.array(["b", "a", "b", "c"]).dictionary_encode(),
            "date": pyarrow.array([1, 2, 3, 4], pyarrow.date32()),
            "place": pyarrow.array([[0.5, 1.5]] * 4, pyarrow.list_(pyarrow.float64(), 2)),
        }
    )
    path = write_table(tmp_path / f"all{ending}", table, rows_per_part=3)
    open_it = FORMATS[ending]
    training, _ = open_it(path, "word", validation_files=path)
    assert training.read([3]).inputs.tolist() == [[18, 19, 20, 21, 22, 23, 0, 4, 0.5, 1.5]]
    assert training.read([0, 1, 2, 3]).targets.tolist() == [1, 0, 1, 2]
    assert open_it(path, "place", ["flag"], path)[0].read([2, 1]).targets.tolist() == [[0.5, 1.5]] * 2
    assert open_it(path, "flag", ["pixels"], path)[0].facts["classes"] == 2


def test_without_pyarrow_the_command_that_installs_it_is_named(tmp_path, monkeypatch, ending):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtra, match=r'pip install "stretto\[data\]"'):
        FORMATS[ending](str(tmp_path), "kind")


@pytest.mark.parametrize(
    "files, options, words",
    [
        ("missing.csv", {}, "missing.csv does not exist; name a file that does"),
        ("folder", {}, r"folder holds no file such as \*\.csv or \*\.tsv; name another folder"),
        ([], {}, "names no file; name at least one"),
        ("nowhere://bucket/x.csv", {}, "nowhere://bucket/x.csv: nowhere needs another package"),
        ("flowers.csv", {"target": "kin"}, r'no column "kin" \(did you mean "kind"\?\); there are width, height'),
        ("flowers.csv", {"inputs": ["withd"]}, 'no column "withd"'),
        (
            "flowers.csv",
            {"inputs": ["name"]},
            'column "name" holds string; inputs are numbers, or lists of them of a fixed length',
        ),
        ("flowers.csv", {"inputs": []}, 'no column beside "kind" holds numbers'),
        ("flowers.csv", {"validation_files": "other.csv"}, 'no column "kind"'),
        (
            ["flowers.csv", "other.csv"],
            {},
            r'other.csv has not the columns of the files before it: "width" is int64 there, and here it is missing',
        ),
        ("flowers.csv", {"share": 1.0}, "leaves 0 to train on"),
        ("numbers.csv", {}, r"numbers.csv begins with b'1,2.*the first line must name the columns"),
        ("header.csv", {}, "there are no rows"),
        ("nothing.csv", {}, "nothing.csv has 0 bytes and no header with lines after it"),
        ("blank.csv", {}, "blank.csv has 5 bytes and no header with lines after it; give names, then rows"),
        ("packed.csv", {}, "packed.csv is packed by gzip; rows are read by number, so unpack it first"),
    ],
)
def test_tables_that_cannot_be_used_are_refused(tmp_path, monkeypatch, files, options, words):
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "flowers.csv", flowers())
    for name, content in {
        "other.csv": b"a,b\n1,2\n",
        "numbers.csv": b"1,2\n3,4\n",
        "header.csv": b"width,kind\n",
        "nothing.csv": b"",
        "blank.csv": b"\n1,2\n",
        "packed.csv": b"\x1f\x8b\x08...",
    }.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataError, match=words):
        csv(files, **{"target": "kind"} | options)


def test_columns_that_hold_something_else_in_another_file_are_refused(tmp_path):
    one = write_table(tmp_path / "one.parquet", flowers())
    other = write_table(tmp_path / "two.parquet", flowers(width=["wide"] * 12, kind=["a"] * 12))
    with pytest.raises(
        DataError, match=r'two.parquet has not the columns .*: "width" is float there, and here it is string'
    ):
        parquet([one, other], "kind")
    with pytest.raises(DataError, match='"kind" holds whole numbers in one file and words in another'):
        parquet(one, "kind", ["height"], other)
    dates = write_table(tmp_path / "dates.parquet", flowers(kind=pyarrow.array(range(12), pyarrow.date32())))
    with pytest.raises(DataError, match=r'column "kind" holds date32\[day\]; a target is a number or a word'):
        parquet(dates, "kind")


@pytest.mark.parametrize("kept", [0, 4, 30, 200, -300, -1])
@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".arrows"])
def test_a_file_that_was_cut_off_is_named_before_training(tmp_path, ending, kept):
    path = tmp_path / f"flowers{ending}"
    content = (write_table(path, flowers(100), 20), path.read_bytes())[1]
    path.write_bytes(content[:kept])
    try:
        opened = FORMATS[ending](str(path), "kind")
    except DataError as error:
        assert "flowers" in str(error)
    else:  # of a stream nothing but the mark of its end is missing
        assert (ending, kept) in {(".arrow", -300), (".arrow", -1), (".arrows", -1)}
        assert sum(map(len, opened)) == 100


def damages(source, indices):
    with pytest.raises(DamagedSamples) as found:
        source.read(indices)
    return found.value.damages, found.value.rest


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".feather"])
def test_a_row_without_a_number_is_damaged_and_the_others_are_read(tmp_path, ending):
    kinds, widths = [0, 1, None, 2, -1, 0, 1, 2], [0, 1, 2, None, 4, 5, 6, 7]
    path = write_table(tmp_path / f"x{ending}", pyarrow.table({"kind": kinds, "width": widths}), rows_per_part=3)
    source, _ = FORMATS[ending](path, "kind", validation_files=path)
    found, rest = damages(source, [7, 4, 3, 2, 0])
    assert [(each.sample, each.offset, each.reason) for each in found] == [
        (2, 2, 'no class in column "kind"'),
        (4, 4, 'the class in column "kind" is none of the 3 that are known'),
        (3, 3, 'no number in column "width"'),
    ]
    assert found[0].file == path
    assert (rest.indices.tolist(), rest.inputs.tolist(), rest.targets.tolist()) == ([7, 0], [[7], [0]], [2, 0])
    assert damages(source, [3])[1] is None
    assert source.labels().tolist() == [0, 1, -1, 2, -1, 0, 1, 2]
    assert source.read([7, 0]).targets.tolist() == [2, 0]


def test_bytes_that_are_wrong_inside_lose_their_part_only(tmp_path):
    table = flowers(4000).select(["width", "kind"])
    path = tmp_path / "x.parquet"
    options = {"write_page_checksum": True, "use_dictionary": False, "compression": "none"}
    parquet_files.write_table(table, path, row_group_size=1000, **options)
    content = bytearray(path.read_bytes())
    at = parquet_files.read_metadata(path).row_group(1).column(0).data_page_offset + 3000
    content[at] ^= 1
    path.write_bytes(content)
    source, _ = parquet(str(path), "kind", validation_files=str(path))
    found, rest = damages(source, [1500, 3, 3999, 1000])
    assert [(each.sample, each.offset) for each in found] == [(1500, 1500), (1000, 1000)]
    assert "CRC" in found[0].reason
    assert rest.inputs.tolist() == [[3], [3999]]


def test_flipped_bytes_are_damage_or_an_error_of_ours(tmp_path, ending):
    path = tmp_path / f"x{ending}"
    content = (write_table(path, flowers(200), 50), path.read_bytes())[1]
    chance = random.Random(0)
    for _ in range(25):
        flipped = bytearray(content)
        for _ in range(chance.choice([1, 3, 10])):
            flipped[chance.randrange(len(flipped))] = chance.choice([0, 255, chance.randrange(256)])
        path.write_bytes(flipped)
        with suppress(DataError):  # DamagedSamples are, too
            source, _ = FORMATS[ending](str(path), "name", validation_files=str(path))
            source.labels()
            source.read(range(len(source)))


LINES = b"""a,b,kind
0,0.5,x
1,"1.5",y
2,oops,x
3,3.5

4,4.5,x,y
5,,y
6,6.5,
\xff,6
 7 , 7.5 ,y
8,8.5,\xff\xfe
9,9.5,x
"""
REASONS = {
    2: '"oops" in column "b" is no number',
    3: "2 values instead of 3",
    4: 'no number in column "a"',
    5: "4 values instead of 3",
    6: 'no number in column "b"',
    7: 'no class in column "kind"',
    8: "2 values instead of 3",
    10: 'in column "kind" is no string',
}


@pytest.mark.parametrize("part_bytes", [3, 20, 40, 10_000])
@pytest.mark.parametrize("ends", ["\n", "\r\n"], ids=["unix", "windows"])
def test_lines_that_cannot_be_parsed_are_named_with_their_offset(tmp_path, ends, part_bytes):
    content = LINES.replace(b"\n", ends.encode())
    (tmp_path / "x.csv").write_bytes(content + ends.encode() * 2)
    (tmp_path / "sound.csv").write_bytes(b"a,b,kind\n0,0.5,x\n1,1.5,y\n")
    tables = CsvTables([str(tmp_path / "sound.csv"), str(tmp_path / "x.csv")], part_bytes)
    source = Table(tables, Columns(inputs=("a", "b"), target="kind", classes=2, names=("x", "y")))
    assert len(source) == 14
    found, rest = damages(source, range(2, 14))
    assert [each.sample - 2 for each in found] == list(REASONS)
    for each, (row, reason) in zip(found, REASONS.items(), strict=True):
        assert reason in each.reason
        assert content[each.offset :].split(ends.encode())[0] == LINES.split(b"\n")[row + 1]
    assert rest.inputs.tolist() == [[0, 0.5], [1, 1.5], [7, 7.5], [9, 9.5]]
    assert rest.targets.tolist() == [0, 1, 1, 0]


def test_a_few_bad_values_do_not_make_words_of_a_column(tmp_path):
    lines = ["a,b,empty,date,kind", *["1,2.5,,2024-05-01,0"] * 30, "x,y,,,1", *["1.5,2.5,,,1"] * 9]
    (tmp_path / "x.csv").write_text("\n".join(lines))
    source, _ = csv(str(tmp_path / "x.csv"), "kind", validation_files=str(tmp_path / "x.csv"))
    assert source.facts["features"] == 2
    assert [each.sample for each in damages(source, range(40))[0]] == [30]
    assert source.read([39]).inputs.tolist() == [[1.5, 2.5]]


def test_a_file_with_a_header_only_adds_nothing(tmp_path):
    path = write_table(tmp_path / "flowers.csv", flowers())
    (tmp_path / "empty.csv").write_text("width,height,name,kind\n")
    for files in ([str(tmp_path / "empty.csv"), path], [path, str(tmp_path / "empty.csv")]):
        assert both(csv(files, "kind")) == both(csv(path, "kind"))


def test_a_line_break_inside_a_value_is_told(tmp_path):
    (tmp_path / "x.csv").write_text('a,word\n1,"two\nlines"\n2,one\n')
    source, _ = csv(str(tmp_path / "x.csv"), "word", validation_files=str(tmp_path / "x.csv"), classes=2)
    found, rest = damages(source, [0, 1, 2])
    assert "3 lines hold 2 rows; a value must not have a line break" in found[0].reason
    assert rest is None


@pytest.mark.parametrize("ending", KINDS, ids=str)
def test_only_some_parts_are_kept_and_memory_stays_bounded(tmp_path, ending):
    table = pyarrow.table(
        {f"x{place}": np.arange(200_000, dtype=np.float32) for place in range(20)} | {"y": [0] * 200_000}
    )
    path = write_table(tmp_path / f"x{ending}", table, rows_per_part=4000)
    columns = Columns(inputs=tuple(table.column_names[:20]), target="y", classes=1)
    source = Table(KINDS[ending]([path]), columns, kept_bytes=2**20)
    everything = range(0, 200_000, 1000)
    source.read(everything)
    before = resident_bytes()
    assert source.read(everything).inputs[:, 19].tolist() == list(everything)
    assert resident_bytes() - before < 4e6  # of 16 that are decoded


def test_several_threads_read_the_same_rows(tmp_path, ending):
    path = write_table(tmp_path / f"flowers{ending}", flowers(4000), rows_per_part=100)
    source, _ = FORMATS[ending](path, "kind", validation_files=path)
    asked = np.random.default_rng(0).integers(0, 4000, (8, 200)).tolist()
    seen = {}
    threads = [
        threading.Thread(target=lambda at=at: seen.update({at: source.read(asked[at]).inputs[:, 0].tolist()}))
        for at in range(8)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen == {at: [float(number) for number in asked[at]] for at in range(8)}


class Made:
    def __init__(self, number):
        self.number, self.size_bytes = number, 10


def test_what_was_used_last_is_kept_up_to_the_bound():
    made = []
    recent = Recent(lambda number: made.append(number) or Made(number), 25)
    for number in (1, 2, 1, 3, 1, 2, 3):
        assert recent.get(number).number == number
    assert made == [1, 2, 3, 2, 3]


def test_what_could_not_be_made_is_tried_again():
    failures = [OSError("not yet")]

    def make(number):
        if failures:
            raise failures.pop()
        return Made(number)

    recent = Recent(make, 0)
    with pytest.raises(OSError, match="not yet"):
        recent.get(1)
    assert recent.get(1).number == 1
