"""A job's values as YAML that reads back equal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from stretto.job.scalar import plain_value

if TYPE_CHECKING:
    import yaml


def to_yaml(values: dict[str, Any]) -> str:
    """Plain values as YAML; text that would read back as a number, a date or a boolean is put in quotes."""
    import yaml

    class Writer(yaml.SafeDumper):
        """PyYAML's own rules for quoting follow YAML 1.1, ours 1.2: `1e-3` is a number here."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    Writer.add_representer(str, _text)
    return yaml.dump(values, Dumper=Writer, sort_keys=False, allow_unicode=True, width=120)


def _text(writer: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None if _stays_text(text) else '"'
    return writer.represent_scalar("tag:yaml.org,2002:str", text, style=style)


def _stays_text(text: str) -> bool:
    if not text.isprintable():
        return False
    try:
        return isinstance(plain_value(text), str)
    except ValueError:
        return False
