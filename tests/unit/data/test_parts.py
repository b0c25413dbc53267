"""Samples are split by class or by block: every sample into exactly one part."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stretto.data.block_split import block_split
from stretto.data.dirichlet import dirichlet_split
from stretto.data.partition import samples_of_parts
from stretto.data.stratified import hold_out_of_classes, stratified_split
from stretto.errors import DataError

LABELS = np.random.default_rng(0).integers(0, 10, 5000)
SPLITS = {
    "stratified": lambda seed: stratified_split(LABELS, 7, seed),
    "dirichlet": lambda seed: dirichlet_split(LABELS, 7, 0.3, seed),
    "held out": lambda seed: hold_out_of_classes(LABELS, 0.3, seed, "data"),
}


def counts(parts, labels=LABELS):
    """How many samples of each class every part has, as a table."""
    return np.array([np.bincount(labels[part], minlength=labels.max() + 1) for part in parts])


@pytest.mark.parametrize("split", SPLITS.values(), ids=SPLITS)
def test_every_sample_is_in_one_part_and_the_seed_decides_which(split):
    parts = split(0)
    assert sorted(np.concatenate(parts)) == list(range(5000))
    assert {part.dtype for part in parts} == {np.dtype(np.int32)}
    assert all((np.diff(part) > 0).all() for part in parts)
    assert [part.tolist() for part in split(0)] == [part.tolist() for part in parts]
    assert [part.tolist() for part in split(1)] != [part.tolist() for part in parts]


@given(st.lists(st.integers(0, 8), max_size=40))
def test_parts_are_the_samples_of_their_owners(owners):
    parts = samples_of_parts(np.array(owners, dtype=np.int64), 9)
    assert [part.tolist() for part in parts] == [
        [sample for sample, owner in enumerate(owners) if owner == part] for part in range(9)
    ]


# stratified


@given(st.lists(st.integers(-2, 5), min_size=1, max_size=200), st.data())
def test_stratified_parts_and_every_class_in_them_differ_by_one_at_most(labels, data):
    labels = np.array(labels)
    parts = stratified_split(labels, data.draw(st.integers(1, len(labels))), seed=0)
    assert sorted(np.concatenate(parts)) == list(range(len(labels)))
    for members in (labels == label for label in [*set(labels.tolist())]):
        sizes = [members[part].sum() for part in parts]
        assert max(sizes) - min(sizes) <= 1
    assert max(map(len, parts)) - min(map(len, parts)) <= 1


def test_of_every_class_the_same_share_is_held_out():
    training, validation = counts(hold_out_of_classes(LABELS, 0.25, 0, "data"))
    assert (validation == np.round((training + validation) * 0.25)).all()


@pytest.mark.parametrize("share", [0.0, 1.0, -1.0, 5.0])
def test_a_share_that_holds_out_nothing_or_all_is_refused(share):
    with pytest.raises(DataError, match=f"data digits: a share of {share} leaves nothing on one side"):
        hold_out_of_classes(LABELS, share, 0, "data digits")


# dirichlet


def test_a_large_alpha_makes_parts_alike_and_a_small_one_gives_classes_away():
    alike, apart = (counts(dirichlet_split(LABELS, 5, alpha, seed=1)) for alpha in (1e5, 0.05))
    assert np.abs(alike / alike.sum(axis=0) - 0.2).max() < 0.03
    assert (apart / apart.sum(axis=0)).max(axis=0).mean() > 0.7


def test_proportions_are_those_of_a_dirichlet_distribution():
    splits = [dirichlet_split(LABELS, 4, 0.5, seed) for seed in range(400)]
    shares = np.concatenate([(table / table.sum(axis=0)).T for table in map(counts, splits)])
    assert shares.mean(axis=0) == pytest.approx([0.25] * 4, abs=0.03)
    assert shares.var(axis=0) == pytest.approx([0.25 * 0.75 / (4 * 0.5 + 1)] * 4, rel=0.12)


@given(st.integers(0, 50), st.integers(1, 20), st.sampled_from([1e-3, 0.1, 1.0, 100.0]), st.integers(0, 99))
def test_a_minimum_is_kept_whenever_there_are_enough_samples(least, parts, alpha, seed):
    labels = np.arange(1000) % 7
    sizes = list(map(len, dirichlet_split(labels, parts, alpha, seed, least)))
    assert sum(sizes) == 1000
    assert min(sizes) >= least


@pytest.mark.parametrize(
    "split, words",
    [
        (lambda: dirichlet_split(LABELS, 5, 0.0, 0), "alpha = 0.0 draws no proportions; give a number above 0"),
        (
            lambda: dirichlet_split(LABELS, 51, 1.0, 0, 100),
            "5000 samples cannot be split into 51 parts of at least 100",
        ),
        (lambda: dirichlet_split(LABELS, 0, 1.0, 0), "into 0 parts"),
        (lambda: stratified_split(LABELS[:3], 4, 0), "3 samples cannot be split into 4 parts; give 1 to 3"),
        (lambda: block_split([5, 5], 3), "2 blocks cannot be split into 3 parts; give 1 to 2"),
        (lambda: block_split([5, 5], 0), "2 blocks cannot be split into 0 parts"),
    ],
)
def test_what_cannot_be_split_is_refused(split, words):
    with pytest.raises(DataError, match=words):
        split()


# by block


@given(st.lists(st.integers(0, 50), min_size=1, max_size=30), st.data())
def test_blocks_stay_whole_and_parts_are_nearly_as_even_as_blocks_allow(blocks, data):
    parts = block_split(blocks, data.draw(st.integers(1, len(blocks))))
    assert sorted(np.concatenate(parts)) == list(range(sum(blocks)))
    block_of = np.repeat(np.arange(len(blocks)), blocks)
    homes = [set(block_of[part].tolist()) for part in parts]
    assert sum(map(len, homes)) == len(set().union(*homes))
    best = max(-(-sum(blocks) // len(parts)), max(blocks))
    assert max(map(len, parts)) <= max(blocks) + sum(blocks) / len(parts)
    assert max(map(len, parts)) <= 2 * best


def test_blocks_go_the_largest_first_to_the_smallest_part():
    parts = block_split([7, 6, 5, 4, 3, 2], 3)
    assert list(map(len, parts)) == [9, 9, 9]
