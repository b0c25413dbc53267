"""Data layer: where samples come from, how they are split and ordered, how they are loaded, and which are used up."""

from __future__ import annotations

SOURCES: dict[str, str] = {
    "digits": "stretto.data.digits:digits",
    "mnist": "stretto.data.mnist:mnist",
    "fashion_mnist": "stretto.data.fashion_mnist:fashion_mnist",
    "cifar10": "stretto.data.cifar10:cifar10",
    "image_folder": "stretto.data.image_folder:image_folder",
    "tar": "stretto.data.tar:tar",
    "arrays": "stretto.data.arrays:arrays",
    "parquet": "stretto.data.parquet:parquet",
    "arrow": "stretto.data.arrow:arrow",
    "csv": "stretto.data.csv:csv",
    "hugging_face": "stretto.data.hugging_face:hugging_face",
    "tokens": "stretto.data.tokens:tokens",
    "text": "stretto.data.text:text",
}
"""The words of `data:` in a job, and where the function is that opens them as (training, validation)."""

ORDERS: dict[str, str] = {
    "shuffled": "stretto.data.shuffled:Shuffled",
    "in_order": "stretto.data.in_order:InOrder",
    "with_replacement": "stretto.data.with_replacement:WithReplacement",
    "bootstrap": "stretto.data.bootstrap:Bootstrap",
    "class_balanced": "stretto.data.class_balanced:ClassBalanced",
    "weighted": "stretto.data.weighted:Weighted",
    "importance": "stretto.data.importance:Importance",
}
"""The words of `loading.order:`, and the classes, which may take `source` and `seed` besides the word's arguments."""

TRANSFORMS: dict[str, str] = {
    "flip": "stretto.data.flip:Flip",
    "crop": "stretto.data.crop:Crop",
    "erase": "stretto.data.erase:Erase",
    "normalise": "stretto.data.normalise:Normalise",
}
"""The words of `loading.transform:`, and the classes that change the inputs of a batch."""
