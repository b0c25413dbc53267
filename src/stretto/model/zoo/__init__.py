"""Models that need no other package; `docs/reference/models.md` lists their arguments."""

from __future__ import annotations

MODELS: dict[str, str] = {
    "linear": "stretto.model.zoo.linear:Linear",
    "mlp": "stretto.model.zoo.mlp:Mlp",
    "resnet": "stretto.model.zoo.resnet:ResNet",
    "wide_resnet": "stretto.model.zoo.wide_resnet:WideResNet",
    "fbnet": "stretto.model.zoo.fbnet:FBNet",
    "transformer": "stretto.model.zoo.transformer:Transformer",
}
"""The words of `model:` in a job, and where the class is."""
