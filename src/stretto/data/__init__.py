"""Data layer: where samples come from, how they are split and ordered, how they are loaded, and which are used up."""

from __future__ import annotations

SOURCES: dict[str, str] = {
    "digits": "stretto.data.sources.digits:digits",
    "mnist": "stretto.data.sources.mnist:mnist",
    "fashion_mnist": "stretto.data.sources.fashion_mnist:fashion_mnist",
    "cifar10": "stretto.data.sources.cifar10:cifar10",
    "image_folder": "stretto.data.sources.image_folder:image_folder",
    "tar": "stretto.data.sources.tar:tar",
    "arrays": "stretto.data.sources.arrays:arrays",
    "parquet": "stretto.data.sources.parquet:parquet",
    "arrow": "stretto.data.sources.arrow:arrow",
    "csv": "stretto.data.sources.csv:csv",
    "hugging_face": "stretto.data.sources.hugging_face:hugging_face",
    "tokens": "stretto.data.sources.tokens:tokens",
    "text": "stretto.data.sources.text:text",
}
"""The words of `data:` in a job, and where the function is that opens them as (training, validation)."""

ORDERS: dict[str, str] = {
    "shuffled": "stretto.data.orders.shuffled:Shuffled",
    "in_order": "stretto.data.orders.in_order:InOrder",
    "with_replacement": "stretto.data.orders.with_replacement:WithReplacement",
    "bootstrap": "stretto.data.orders.bootstrap:Bootstrap",
    "class_balanced": "stretto.data.orders.class_balanced:ClassBalanced",
    "weighted": "stretto.data.orders.weighted:Weighted",
    "importance": "stretto.data.orders.importance:Importance",
}
"""The words of `loading.order:`, and the classes, which may take `source` and `seed` besides the word's arguments."""

TRANSFORMS: dict[str, str] = {
    "flip": "stretto.data.transforms.flip:Flip",
    "crop": "stretto.data.transforms.crop:Crop",
    "erase": "stretto.data.transforms.erase:Erase",
    "normalise": "stretto.data.transforms.normalise:Normalise",
}
"""The words of `loading.transform:`, and the classes that change the inputs of a batch."""
