"""The section `checkpoint`: what is saved, and which of it is kept."""

from __future__ import annotations

from typing import Any

from pydantic import (
    Field,
    GetJsonSchemaHandler,
    SerializationInfo,
    SerializerFunctionWrapHandler,
    model_serializer,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from stretto.job.budget import Budget
from stretto.job.section import Section


class Best(Section):
    """The metric that says which model is the best; in a file `loss`, or `{name: F1Score, higher: true}`."""

    name: str = Field(min_length=1, description="The metric.")
    higher: bool | None = Field(default=None, description="Whether more is better; known for the built-in metrics.")

    @model_validator(mode="before")
    @classmethod
    def _from_word(cls, value: Any) -> Any:
        return {"name": value} if isinstance(value, str) else value

    @model_serializer(mode="wrap")
    def _written(self, handler: SerializerFunctionWrapHandler, info: SerializationInfo) -> str | dict[str, Any]:
        return self.name if self.higher is None else {"name": self.name, "higher": self.higher}

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        mapping = handler.resolve_ref_schema(handler(schema))
        return {"anyOf": [{"type": "string", "minLength": 1}, dict(mapping)]}


class Checkpoint(Section):
    """When the state is saved, and which checkpoints stay."""

    every: Budget | None = Field(
        default=Budget(epochs=1),
        description="How often to save, in ep, step, s, min or h; null saves only at the end.",
    )
    keep: int = Field(default=2, ge=1, description="How many of the newest checkpoints stay, besides the best.")
    best: Best = Field(
        default=Best(name="loss"), description="The metric watched for the best model and for stop.patience."
    )
    asynchronous: bool = Field(default=True, description="Whether training goes on while a checkpoint is written.")
