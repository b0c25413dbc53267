"""Pictures in folders: classes by name, held out by class, and damaged ones named while the others are read."""

import os

import pytest
import torch
from data_world import write_picture_folders

from stretto.data.damage import DamagedSamples
from stretto.data.sources.image_folder import image_folder
from stretto.data.sources.picture_decoder import NORMALISATIONS
from stretto.errors import DataError


def numbers(batch):
    """Which picture each one of a batch is, read from its pixels."""
    look = NORMALISATIONS[1]
    return ((batch.inputs[:, 0, 0, 0] * look.deviation[0] + look.mean[0]) * 255).round().int().tolist()


@pytest.fixture
def folder(tmp_path):
    """Four dogs, whose folder was made first, six cats and ten cows."""
    return write_picture_folders(tmp_path / "pictures", {"dog": 4, "cat": 6, "cow": 10})


def test_classes_are_the_folders_by_name(folder):
    training, validation = image_folder(str(folder), str(folder), size=8, channels=1)
    batch = training.read(range(20))
    assert batch.targets.tolist() == [0] * 6 + [1] * 10 + [2] * 4 == training.labels().tolist()
    assert numbers(batch) == [*range(4, 10), *range(10, 20), *range(4)]
    assert training.facts == {"shape": (1, 8, 8), "features": 64, "channels": 1, "classes": 3, "outputs": 3}
    assert torch.equal(validation.read(range(20)).inputs, batch.inputs)


def test_a_share_of_each_class_is_held_out_and_the_seed_says_which(folder):
    def split(seed):
        return [
            numbers(half.read(range(len(half)))) for half in image_folder(str(folder), seed=seed, size=8, channels=1)
        ]

    training, validation = split(0)
    assert sorted(training + validation) == list(range(20))
    assert [sum(low <= each < high for each in validation) for low, high in ((0, 4), (4, 10), (10, 20))] == [1, 1, 2]
    assert split(0) == [training, validation] != split(1)


def test_validation_has_the_class_numbers_of_training_also_where_a_class_is_missing(folder, tmp_path):
    write_picture_folders(tmp_path / "validation", {"dog": 2, "cow": 1})
    validation = image_folder(str(folder), str(tmp_path / "validation"), size=8)[1]
    assert validation.labels().tolist() == [1, 2, 2]
    assert validation.facts["classes"] == 3


def test_what_is_no_picture_by_name_is_passed_over(folder):
    (folder / "readme.txt").touch()
    (folder / ".cache").mkdir()
    for name in ("notes.txt", ".hidden.png", "png"):
        (folder / "cat" / name).touch()
    (folder / "cat" / "folder.png").mkdir()
    (folder / "cat" / "000.png").rename(folder / "cat" / "000.PNG")
    assert len(image_folder(str(folder), str(folder))[0]) == 20


def test_damaged_pictures_are_all_named_and_the_others_read(folder):
    for broken in ("cat/001.png", "cow/009.png"):
        (folder / broken).write_bytes((folder / broken).read_bytes()[:40])
    source = image_folder(str(folder), str(folder), size=8, channels=1)[0]
    with pytest.raises(DamagedSamples, match=r"cat/001\.png at offset 0 \(sample 1\): .*; and 1 more") as raised:
        source.read([2, 1, 0, 15, 19])
    damages, rest = raised.value.damages, raised.value.rest
    assert [(each.sample, each.file) for each in damages] == [
        (1, f"{folder}/cat/001.png"),
        (15, f"{folder}/cow/009.png"),
    ]
    assert (rest.indices.tolist(), numbers(rest), rest.targets.tolist()) == ([2, 0, 19], [6, 4, 3], [0, 0, 2])


def test_where_all_are_damaged_nothing_is_left(folder):
    (folder / "cat" / "000.png").write_bytes(b"")
    with pytest.raises(DamagedSamples) as raised:
        image_folder(str(folder), str(folder))[0].read([0, 0])
    assert (len(raised.value.damages), raised.value.rest) == (2, None)


def test_a_picture_that_has_gone_is_no_damage_but_the_end(folder):
    source = image_folder(str(folder), str(folder))[0]
    (folder / "cat" / "000.png").unlink()
    with pytest.raises(DataError, match=r"000\.png does not exist") as raised:
        source.read([0])
    assert not isinstance(raised.value, DamagedSamples)


def test_a_name_need_not_be_text(folder):
    os.link(folder / "cat" / "000.png", os.fsencode(folder) + b"/cat/\xff.png")
    (folder / "cat" / "Zürich.png").write_bytes(b"?")
    os.link(folder / "cat" / "Zürich.png", os.fsencode(folder) + b"/cat/\xfe.png")
    source = image_folder(str(folder), str(folder), size=8, channels=1)[0]
    with pytest.raises(DamagedSamples) as raised:
        source.read(range(6, 9))
    assert numbers(raised.value.rest) == [4]
    assert [damage.file.rpartition("/")[2] for damage in raised.value.damages] == ["Zürich.png", r"\udcfe.png"]


@pytest.mark.parametrize(
    "counts, validation, words",
    [
        (None, None, "pictures does not exist"),
        ({}, None, "has no folders; data image_folder needs one for each class"),
        ({"cat": 0}, None, r"cat has no pictures \(png, jpg"),
        ({"cat": 1, "dog": 1}, None, "a share of 0.2 leaves nothing on one side"),
        ({"cat": 1, "dog": 1}, {"dogs": 1}, 'class "dogs" is unknown; choose one of cat, dog .did you mean "dog"'),
    ],
    ids=["missing", "empty", "no pictures", "too few", "unknown class"],
)
def test_folders_that_cannot_be_used_are_refused(tmp_path, counts, validation, words):
    if counts is not None:
        (tmp_path / "pictures").mkdir()
        write_picture_folders(tmp_path / "pictures", counts)
    other = validation and str(write_picture_folders(tmp_path / "validation", validation))
    with pytest.raises(DataError, match=words):
        image_folder(str(tmp_path / "pictures"), other)
