"""Model layer: finding a model, the zoo, how replicas normalise together, and how one replica is laid out."""

from __future__ import annotations

LAYOUTS: dict[str, str] = {
    "replicated": "stretto.model.replicated:Replicated",
}
"""The words of `layout:` in a job, and where the class is that places a model accordingly."""
