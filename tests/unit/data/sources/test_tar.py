"""Samples in tar files: found by their headers, read at any place, and damaged ones named while the others are read."""

import json

import fsspec
import numpy as np
import pytest
import torch
from data_world import encoded, picture_shard, tar_bytes
from test_array_decoder import npy

from stretto.data.damage import DamagedSamples
from stretto.data.sources.picture_decoder import NORMALISATIONS
from stretto.data.sources.tar import tar
from stretto.data.sources.tar_index import Wanted, index_tars
from stretto.errors import DataError

PICTURE = encoded(np.zeros((8, 8)))


def numbers(batch):
    """Which picture each one of a batch is, read from its pixels."""
    look = NORMALISATIONS[1]
    return ((batch.inputs[:, 0, 0, 0] * look.deviation[0] + look.mean[0]) * 255).round().int().tolist()


def opened(path, **options):
    """All samples of some shards."""
    return tar(str(path), str(path), **{"size": 8, "channels": 1, **options})[0]


def shard(folder, members):
    (folder / "a.tar").write_bytes(tar_bytes(members))
    return folder / "a.tar"


@pytest.fixture
def folder(tmp_path):
    """Thirty pictures in three shards."""
    for number in range(3):
        (tmp_path / f"shard-{number:03d}.tar").write_bytes(picture_shard(range(10 * number, 10 * number + 10)))
    return tmp_path


@pytest.mark.parametrize("place", ["", "/shard-{000..002}.tar", "/*.tar"], ids=["folder", "braces", "pattern"])
def test_samples_are_read_at_any_place_of_any_shard(folder, place):
    source = opened(f"{folder}{place}")
    batch = source.read([29, 0, 15, 15, 9])
    assert (numbers(batch), batch.targets.tolist()) == ([29, 0, 15, 15, 9], [9, 0, 5, 5, 9])
    assert batch.indices.tolist() == [29, 0, 15, 15, 9]
    assert source.facts == {"shape": (1, 8, 8), "features": 64, "channels": 1, "classes": 10, "outputs": 10}
    assert not hasattr(source, "blocks")


def test_shards_may_be_listed_and_validation_have_its_own(folder):
    listed = [f"{folder}/shard-002.tar", f"{folder}/shard-000.tar"]
    training, validation = tar(listed, f"{folder}/shard-001.tar", size=8, channels=1)
    assert numbers(training.read([0, 10])) == [20, 0]
    assert numbers(validation.read(range(10))) == list(range(10, 20))


def test_a_share_of_each_class_is_held_out_and_the_seed_says_which(folder):
    def split(seed):
        return [
            numbers(half.read(range(len(half)))) for half in tar(str(folder), seed=seed, share=0.3, size=8, channels=1)
        ]

    training, validation = split(0)
    assert sorted(training + validation) == list(range(30))
    assert sorted(each % 10 for each in validation) == list(range(10))
    assert split(0) == [training, validation] != split(1)


def test_remote_shards_are_read_alike_and_tell_how_many_samples_each_has(folder):
    system = fsspec.filesystem("memory")
    for path in folder.iterdir():
        system.pipe_file(f"/pictures/{path.name}", path.read_bytes())
    there = tar("memory://pictures/shard-{000..002}.tar", share=0.3, size=8, channels=1)
    here = tar(str(folder), share=0.3, size=8, channels=1)
    for one, other in zip(there, here, strict=True):
        assert torch.equal(one.read(range(len(one))).inputs, other.read(range(len(one))).inputs)
    assert [half.blocks for half in there] == [[10, 10], [10]]
    system.rm("/pictures", recursive=True)


def test_neighbours_that_share_a_name_up_to_the_first_dot_are_a_sample(tmp_path):
    path = shard(
        tmp_path,
        [
            ("README.txt", b"what this is"),
            ("./train/a.v1/0.left.PNG", PICTURE),
            ("./train/a.v1/0.json", json.dumps({"age": 3, "name": "x"}).encode()),
            ("./train/a.v1/0.txt", b"a caption"),
            ("./train/b/0.json", b'{"age": 5}'),
            ("./train/b/0.left.png", PICTURE),
            (".DS_Store", b""),
        ],
    )
    source = opened(path, input="left.png", target="json.age")
    assert (len(source), source.labels().tolist()) == (2, [3, 5])


def test_arrays_are_read_without_being_resized(tmp_path):
    arrays = [np.random.default_rng(number).normal(size=(2, 5)) for number in range(4)]
    members = [(f"{n}.{end}", each) for n, a in enumerate(arrays) for end, each in (("npy", npy(a)), ("cls", b"1\n"))]
    source = opened(shard(tmp_path, members))
    batch = source.read([3, 1])
    np.testing.assert_allclose(batch.inputs, np.stack([arrays[3], arrays[1]]), rtol=1e-6)
    assert batch.inputs.dtype == torch.float32
    assert source.facts == {"shape": (2, 5), "features": 10, "classes": 2, "outputs": 2}


def test_the_first_whole_array_says_what_all_are_like(tmp_path):
    members = [("0.npy", b"?"), ("0.cls", b"0"), ("1.npy", npy(np.zeros(3))), ("1.cls", b"0")]
    source = opened(shard(tmp_path, members))
    assert source.read([1]).inputs.shape == (1, 3)
    with pytest.raises(DamagedSamples, match=r"a\.tar at offset 512 \(sample 0\): no \.npy file"):
        source.read([0])


@pytest.mark.parametrize(
    "members, words",
    [
        ([("0.png", PICTURE[:40]), ("0.cls", b"1")], r"at offset 512 \(sample 0\): "),
        ([("0.cls", b"1")], "at offset 512 .* beside '0.cls' nothing ends with png, jpg"),
        ([("0.png", PICTURE)], "beside '0.png' nothing that tells a class ends with cls"),
        ([("0.png", PICTURE), ("0.cls", b"cat")], r"at offset 1536 .* '0\.cls' tells no class: .*cat"),
        ([("0.png", PICTURE), ("0.cls", b"-1")], "tells no class: -1 is out of range"),
        ([("0.png", PICTURE), ("0.cls", b"9" * 5000)], "tells no class"),
        ([("0.png", PICTURE), ("0.cls", b"1" * 100_000)], "nothing that tells a class ends with cls"),
        ([("\udcff\n.png", PICTURE)], r"beside '\\udcff\\n\.png' nothing that tells a class"),
    ],
    ids=["picture", "no input", "no target", "word", "negative", "huge", "long", "hostile name"],
)
def test_a_damaged_sample_is_named_with_its_place_and_the_others_are_read(tmp_path, members, words):
    sound = [("1.png", PICTURE), ("1.cls", b"1")]
    source = opened(shard(tmp_path, members + sound))
    assert len(source) == 2
    with pytest.raises(DamagedSamples, match=words) as raised:
        source.read([0, 1, 0])
    assert [damage.file for damage in raised.value.damages] == [str(tmp_path / "a.tar")] * 2
    assert (raised.value.rest.indices.tolist(), raised.value.rest.targets.tolist()) == ([1], [1])


@pytest.mark.parametrize("target, content", [("json.a", b"[1]"), ("json.a", b'{"a": "x"}'), ("json.a", b"[" * 9000)])
def test_a_mapping_without_the_class_is_damage(tmp_path, target, content):
    members = [("0.png", PICTURE), ("0.json", content), ("1.png", PICTURE), ("1.json", b'{"a": 1}')]
    with pytest.raises(DamagedSamples, match=r"'0\.json' tells no class"):
        opened(shard(tmp_path, members), target=target).read([0])


def test_a_shard_that_was_cut_loses_what_was_cut_off_and_says_so(folder):
    path = folder / "shard-001.tar"
    path.write_bytes(path.read_bytes()[: 5 * 2048 + 512 + 40])
    source = opened(folder)
    assert len(source) == 26
    assert numbers(source.read([14, 16])) == [14, 20]
    with pytest.raises(DamagedSamples, match=r"shard-001\.tar at offset 10752 .*ends at offset 10792, but") as raised:
        source.read([15])
    assert raised.value.rest is None


def test_a_damaged_header_costs_the_samples_it_belongs_to(folder):
    path = folder / "shard-000.tar"
    content = bytearray(path.read_bytes())
    content[2 * 2048] ^= 1
    path.write_bytes(content)
    source = opened(folder)
    with pytest.raises(DamagedSamples) as raised:
        source.read(range(len(source)))
    assert raised.value.damages[0].offset == 4096
    assert numbers(raised.value.rest) == [0, 1, *range(3, 30)]


def test_a_sample_takes_some_tens_of_bytes(tmp_path):
    paths = [str(shard(tmp_path, [(f"{n}.{end}", b"1") for n in range(2000) for end in ("png", "cls")]))]
    index = index_tars(paths, Wanted(("png",), "cls"))
    held = index.offsets.nbytes + index.sizes.nbytes + index.labels.nbytes
    assert (len(index), held / len(index)) == (2000, 24)


@pytest.mark.parametrize(
    "members, options, words",
    [
        ([], {}, r"a\.tar has no members that end with png, .*npy, cls; say others \(data\.input, data\.target\)"),
        ([("0.png", PICTURE)], {}, "none of 1 samples can be read: .*nothing that tells a class ends with cls"),
        ([("0.npy", b"?"), ("0.cls", b"0")], {}, "none of 1 arrays is a whole .npy file of numbers"),
        ([("0.png", PICTURE), ("0.cls", b"1")], {"channels": 2}, "cannot have 2 channels"),
    ],
    ids=["nothing", "no target", "no array", "channels"],
)
def test_shards_that_cannot_be_used_are_refused(tmp_path, members, options, words):
    with pytest.raises(DataError, match=words):
        opened(shard(tmp_path, members), **options)


def test_a_missing_shard_is_named(tmp_path):
    with pytest.raises(DataError, match=r"b-2\.tar does not exist"):
        tar(f"{tmp_path}/b-{{2..3}}.tar")
