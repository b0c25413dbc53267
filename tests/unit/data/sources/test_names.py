"""Names come back as they were, in a fraction of the memory of a list."""

import numpy as np

from stretto.data.sources.names import Names

ODD = ["cat.png", "", "a b", "Zürich.jpg", b"\xff\xfe.png".decode(errors="surrogateescape"), "end\0"]


def test_names_come_back_as_they_were():
    names = Names(ODD)
    assert [names[number] for number in range(len(names))] == ODD


def test_some_of_the_names_can_be_taken_and_taken_from_again():
    some = Names(ODD).take(np.array([3, 0, 2])).take(np.array([2, 0]))
    assert [some[number] for number in range(len(some))] == [ODD[2], ODD[3]]


def test_no_names_are_no_trouble():
    assert len(Names([])) == 0
