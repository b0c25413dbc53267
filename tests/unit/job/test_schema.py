"""The schema that editors use, and the reference that people read."""

import importlib.util
import pathlib

from stretto.job import json_schema
from stretto.job.fields import all_fields
from stretto.job.words import DATA, MODELS

ROOT = pathlib.Path(__file__).parents[3]


def test_every_key_is_described():
    assert [path for path, field in all_fields() if not field.description] == []


def test_a_choice_is_a_known_word_or_an_importable_name_or_a_mapping_with_one():
    word, *known, other = json_schema()["properties"]["model"]["anyOf"]
    assert word["anyOf"][0] == {"enum": list(MODELS)}
    assert word["anyOf"][1]["pattern"].endswith("$")
    assert [each["properties"]["name"]["const"] for each in known] == list(MODELS)
    assert {each["required"][0] for each in (*known, other)} == {"name"}
    assert other["additionalProperties"] is True


def test_an_editor_learns_the_arguments_of_a_known_word():
    resnet = json_schema()["properties"]["model"]["anyOf"][1 + list(MODELS).index("resnet")]
    assert resnet["additionalProperties"] is False
    assert resnet["properties"]["depth"] == {"type": "integer", "minimum": 1}
    assert resnet["properties"]["width"] == {"type": ["integer", "null"], "minimum": 1}
    assert resnet["properties"]["zero_init"] == {"type": "boolean"}


def test_an_editor_learns_where_a_list_may_stand_for_a_text():
    tar = json_schema()["properties"]["data"]["anyOf"][1 + list(DATA).index("tar")]["properties"]
    either = [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]
    assert tar["shards"] == {"anyOf": either}
    assert tar["validation_shards"] == {"anyOf": [*either, {"type": "null"}]}


def test_the_schema_knows_defaults_and_refuses_unknown_keys():
    schema = json_schema()
    assert schema["required"] == ["model", "data", "task"]
    assert schema["additionalProperties"] is False
    training = schema["$defs"]["Training"]
    assert training["additionalProperties"] is False
    assert training["properties"]["optimizer"]["default"] == "AdamW"
    assert training["properties"]["until"]["default"] == "3ep"
    assert training["properties"]["precision"]["enum"] == ["fp32", "bf16", "fp16"]


def test_the_published_reference_is_what_the_models_say():
    place = importlib.util.spec_from_file_location("reference", ROOT / "tools" / "reference.py")
    reference = importlib.util.module_from_spec(place)
    place.loader.exec_module(reference)
    assert reference.main(["--check"]) == 0
