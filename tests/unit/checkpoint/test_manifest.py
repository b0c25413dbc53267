"""The manifest protects itself."""

import json

import pytest

from stretto.checkpoint.manifest import Manifest
from stretto.checkpoint.shard import Shard, TensorEntry, shard_file
from stretto.errors import CheckpointError

ENTRY = TensorEntry(name="model/größe", dtype="F32", shape=(2, 3), bytes=24, digest="0" * 32)
SHARD = Shard(step=120, seat=1, file=shard_file(1), header_bytes=64, header_digest="f" * 32, tensors=(ENTRY,))
MANIFEST = Manifest(step=120, shards=(SHARD,), values={"epoch": 3, "position": [1, 2.5, None]})


def test_a_manifest_comes_back_as_it_was():
    assert Manifest.decode(MANIFEST.encode()) == MANIFEST


def test_a_manifest_is_plain_json_for_everybody_else():
    assert json.loads(MANIFEST.encode())["step"] == 120


def test_every_single_flipped_bit_is_noticed():
    good = MANIFEST.encode()
    for position in range(len(good)):
        for bit in range(8):
            bad = bytearray(good)
            bad[position] ^= 1 << bit
            with pytest.raises(CheckpointError, match=r"manifest.json does not match its own digest"):
                Manifest.decode(bytes(bad))


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"version": 2}, "version 2, this Stretto reads version 1"),
        ({"shards": [{"step": 1}]}, "does not describe a shard"),
        ({"shards": None}, "cannot be understood"),
        ({"shards": [{**SHARD.to_json(), "file": "../../model"}]}, "not the file of seat 1"),
        ({"shards": [{**SHARD.to_json(), "header_bytes": -1}]}, "-1 is no count"),
    ],
)
def test_a_manifest_that_matches_its_digest_and_says_nonsense_is_refused(monkeypatch, change, complaint):
    dumps = json.dumps
    monkeypatch.setattr(json, "dumps", lambda body, **options: dumps({**body, **change}, **options))
    content = MANIFEST.encode()
    with pytest.raises(CheckpointError, match=complaint):
        Manifest.decode(content)


def test_what_is_no_manifest_at_all_is_refused():
    for content in (b"", b"{}", b"\n", b"\0" * 1000):
        with pytest.raises(CheckpointError):
            Manifest.decode(content)


def test_a_shard_is_read_from_the_file_of_its_own_seat_only():
    with pytest.raises(CheckpointError, match=r"does not describe a shard"):
        Shard.from_json({**SHARD.to_json(), "file": "seat-00002.safetensors"})


def test_the_machines_need_no_torch():
    import subprocess
    import sys

    modules = (
        "stretto.checkpoint, stretto.checkpoint.gathering, stretto.checkpoint.manifest, stretto.checkpoint.retention"
    )
    program = f"import sys, {modules}; sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
