"""Data layer: where samples come from, how they are split and ordered, how they are loaded, and which are used up."""

from __future__ import annotations

SOURCES: dict[str, str] = {
    "digits": "stretto.data.digits:digits",
    "fashion_mnist": "stretto.data.fashion_mnist:fashion_mnist",
    "arrays": "stretto.data.arrays:arrays",
    "text": "stretto.data.text:text",
}
"""The words of `data:` in a job, and where the function is that opens them as (training, validation)."""
