"""The JSON schema of a job file, with which editors complete and check it while it is written."""

from __future__ import annotations

from typing import Any

from pydantic.json_schema import GenerateJsonSchema

from stretto.job.budget import Budget
from stretto.job.job import Job


class _Generator(GenerateJsonSchema):
    """Pydantic takes a dataclass apart where it is a default; a budget is shown as a file has it."""

    def encode_default(self, dft: Any) -> Any:
        return str(dft) if isinstance(dft, Budget) else super().encode_default(dft)


def json_schema() -> dict[str, Any]:
    """The schema as plain values. In an editor: `# yaml-language-server: $schema=job.schema.json` as the first line."""
    schema = Job.model_json_schema(schema_generator=_Generator)
    schema["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    schema["title"] = "Stretto job"
    return schema
