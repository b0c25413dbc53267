"""Folders in the form of `save_to_disk`: splits, class names, and what cannot be read."""

import shutil

import pyarrow
import pytest
from data_world import flowers, save_dataset, save_dataset_dict

from stretto.data.damage import DamagedSamples
from stretto.data.sources.hugging_face import hugging_face
from stretto.errors import DataError

LABEL = {"kind": {"names": ["rose", "tulip", "lily", "orchid"], "_type": "ClassLabel"}}


def test_a_dataset_is_read_whole_from_all_its_shards(tmp_path):
    folder = save_dataset(tmp_path, flowers(50), shards=3)
    opened = hugging_face(folder, "kind", ["height", "width"], share=0.3)
    assert [len(source) for source in opened] == [35, 15]
    inputs = [source.read(range(len(source))).inputs.tolist() for source in opened]
    assert sorted(inputs[0] + inputs[1]) == [[number + 100, number] for number in range(50)]
    assert opened[0].name == "data-00000-of-00003.arrow and 2 more"


def test_a_class_label_knows_its_classes_and_others_are_counted(tmp_path):
    assert hugging_face(save_dataset(tmp_path / "a", flowers(), LABEL), "kind")[0].facts["classes"] == 4
    assert hugging_face(save_dataset(tmp_path / "b", flowers()), "kind")[0].facts["classes"] == 3
    assert hugging_face(save_dataset(tmp_path / "c", flowers()), "name", "width")[0].facts["classes"] == 3


def test_a_sample_without_a_label_is_damaged(tmp_path):
    folder = save_dataset(tmp_path, flowers(5, kind=[0, 1, 2, 3, -1]), LABEL)
    training, validation = hugging_face(folder, "kind")
    found = []
    for source in (training, validation):
        try:
            source.read(range(len(source)))
        except DamagedSamples as damaged:
            found += damaged.damages
    assert [(each.offset, each.reason) for each in found] == [
        (4, 'the class in column "kind" is none of the 4 that are known')
    ]


@pytest.mark.parametrize(
    "splits, options, sizes",
    [
        ({"train": 8, "test": 3, "validation": 4}, {}, [8, 4]),
        ({"train": 8, "test": 3}, {}, [8, 3]),
        ({"train": 10}, {}, [8, 2]),
        ({"test": 10}, {"split": "test", "share": 0.5}, [5, 5]),
        ({"train": 8, "dev": 5, "test": 3}, {"validation_split": "dev"}, [8, 5]),
    ],
    ids=str,
)
def test_two_splits_are_taken_of_several(tmp_path, splits, options, sizes):
    folder = save_dataset_dict(tmp_path, **{name: flowers(rows) for name, rows in splits.items()})
    assert [len(source) for source in hugging_face(f"{folder}/", "kind", **options)] == sizes


def test_a_folder_behind_an_address_is_read_too(tmp_path):
    import fsspec

    save_dataset(tmp_path, flowers())
    there = fsspec.filesystem("memory")
    there.put(str(tmp_path), f"/{tmp_path.name}", recursive=True)
    assert len(hugging_face(f"memory://{tmp_path.name}", "kind")[0]) == 10


@pytest.mark.parametrize(
    "change, options, words",
    [
        (lambda folder: shutil.rmtree(folder), {}, r"is no saved data set, it has no state\.json; save one"),
        (
            lambda folder: (folder / "state.json").write_text("{"),
            {},
            r"state\.json is no JSON: .*; save the data set anew",
        ),
        (lambda folder: (folder / "state.json").write_text("[]"), {}, "holds no description of a data set"),
        (lambda folder: (folder / "state.json").write_text("{}"), {}, r"state\.json names no files"),
        (
            lambda folder: (folder / "data-00000-of-00001.arrow").unlink(),
            {},
            r"a file is missing that state\.json names",
        ),
        (lambda folder: None, {"validation_split": "test"}, "holds one Dataset without splits"),
        (
            lambda folder: save_dataset(folder, flowers(), _indices_data_files=[{"filename": "indices.arrow"}]),
            {},
            r"holds a selection of rows; call flatten_indices\(\) before save_to_disk\(\)",
        ),
        (
            lambda folder: save_dataset_dict(folder, train=flowers(), test=flowers()),
            {"validation_split": "tset"},
            r'split "tset" is unknown; choose one of train, test \(did you mean "test"\?\)',
        ),
        (
            lambda folder: save_dataset(folder, flowers(width=pyarrow.array([[1.0, 2.0]] * 12))),
            {"inputs": "width"},
            r'"width" holds list<.*double.*>; inputs are numbers, or lists of them of a fixed length',
        ),
    ],
)
def test_folders_that_cannot_be_used_are_refused(tmp_path, change, options, words):
    folder = tmp_path / "saved"
    save_dataset(folder, flowers())
    change(folder)
    with pytest.raises(DataError, match=words):
        hugging_face(str(folder), "kind", **options)
