"""Words with arguments."""

import math
from typing import Annotated

import pytest
from pydantic import TypeAdapter, ValidationError

from stretto.job import Choice
from stretto.job.choice import Words

ENGINES = TypeAdapter(Annotated[Choice, Words(known={"inline": {}, "local": {}})])
CLASSES = TypeAdapter(Annotated[Choice, Words(known={"SGD": {}, "AdamW": {}}, pattern=r"[A-Z]\w*")])


def test_a_bare_word_is_a_choice_without_arguments():
    assert ENGINES.validate_python("local") == Choice("local")
    assert ENGINES.dump_python(Choice("local")) == "local"


def test_a_mapping_is_a_name_with_arguments():
    choice = ENGINES.validate_python({"name": "local", "depth": 8, "sizes": (1, 2)})
    assert (choice.name, choice.arguments) == ("local", {"depth": 8, "sizes": [1, 2]})
    assert ENGINES.dump_python(choice) == {"name": "local", "depth": 8, "sizes": [1, 2]}


def test_what_a_part_does_with_its_arguments_does_not_change_the_job():
    choice = Choice("mlp", {"sizes": [1, 2]})
    arguments = choice.arguments
    arguments["sizes"].append(3)
    arguments["more"] = True
    assert choice.arguments == {"sizes": [1, 2]}


def test_equal_choices_have_equal_hashes_and_one_is_not_true():
    one, other = Choice("mlp", {"a": 1, "b": 2}), Choice("mlp", {"b": 2, "a": 1})
    assert one == other
    assert hash(one) == hash(other)
    assert Choice("mlp", {"a": 1}) != Choice("mlp", {"a": True})
    assert Choice("mlp") != "mlp"


def test_anything_importable_may_stand_for_a_known_word():
    assert ENGINES.validate_python("mine.engines:Slow").name == "mine.engines:Slow"


def test_an_open_table_takes_any_class_by_name():
    assert CLASSES.validate_python("Lion").name == "Lion"
    with pytest.raises(ValidationError, match=r'did you mean "AdamW"\?'):
        CLASSES.validate_python("adamw")


@pytest.mark.parametrize(
    ("value", "fact"),
    [
        ("locl", r'"locl" is unknown; choose one of inline, local, module:attribute \(did you mean "local"\?\)'),
        (3, "must be a word, or a mapping"),
        (["local"], "must be a word, or a mapping"),
        (None, "must be a word, or a mapping"),
        ({"depth": 8}, "the name is missing"),
        ({"name": 8}, "the name must be a word"),
        ({"name": "local", 3: 4}, "must be named by a word"),
        ({"name": "local", "x": object()}, "type object cannot stand in a job"),
        ({"name": "local", "x": {1: 2}}, "type dict cannot stand in a job"),
        ({"name": "local", "x": math.nan}, "NaN is no value"),
        ({"name": "local", "x": 2**64}, "does not fit into 64 bits"),
        ({"name": "local", "x": "\ud800"}, "lone surrogate"),
        ("not an identifier:at all", "is unknown"),
    ],
)
def test_what_is_no_choice_is_refused_in_words(value, fact):
    with pytest.raises(ValidationError, match=fact):
        ENGINES.validate_python(value)


def test_arguments_that_hold_themselves_are_refused():
    endless: dict[str, object] = {}
    endless["again"] = endless
    with pytest.raises(ValidationError, match="nested more than 24 deep"):
        ENGINES.validate_python({"name": "local", "x": endless})
