"""The peers' side of the data benchmark: torch's DataLoader over Datasets as people write them, and WebDataset."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image, ImageOps
from sampling import BATCH, Data
from sets import fashion
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from stretto.data.draws import Draws
from stretto.data.sources.normalisation import Normalisation

Sample = tuple[Tensor, int]
Augmentation = Callable[[Image.Image], Tensor]
WORKERS = 2
PADDING = 4  # as our transform `crop` has it


class Augment:
    """What torchvision's RandomCrop, RandomHorizontalFlip, ToTensor and Normalize do to a picture, in that order."""

    def __init__(self, normalisation: Normalisation) -> None:
        mean, deviation = torch.tensor(normalisation.mean), torch.tensor(normalisation.deviation)
        self._mean, self._deviation = mean.view(-1, 1, 1), deviation.view(-1, 1, 1)

    def __call__(self, picture: Image.Image) -> Tensor:
        (width, height), most = picture.size, 2 * PADDING
        padded = ImageOps.expand(picture, PADDING)
        down, right = (int(torch.randint(0, most + 1, size=(1,)).item()) for _ in range(2))
        picture = padded.crop((right, down, right + width, down + height))
        if torch.rand(1) < 0.5:
            picture = picture.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        pixels = torch.from_numpy(np.array(picture, np.uint8, copy=True))
        pixels = pixels.view(height, width, len(picture.getbands())).permute((2, 0, 1)).contiguous()
        return pixels.to(torch.float32).div(255).sub_(self._mean).div_(self._deviation)


class Folder(Dataset[Sample]):
    """Files `folder/<class>/<name>`, as torchvision's ImageFolder reads them."""

    def __init__(self, folder: Path, mode: str, augment: Augmentation) -> None:
        classes = sorted(each.name for each in folder.iterdir())
        self._samples = [
            (str(file), number) for number, name in enumerate(classes) for file in sorted((folder / name).iterdir())
        ]
        self._mode, self._augment = mode, augment

    def __len__(self) -> int:
        return len(self._samples)

    def __getitem__(self, index: int) -> Sample:
        path, target = self._samples[index]
        with Path(path).open("rb") as file:
            return self._augment(Image.open(file).convert(self._mode)), target


class Memory(Dataset[Sample]):
    """Pictures as one array of bytes, as torchvision's FashionMNIST keeps them."""

    def __init__(self, augment: Augmentation) -> None:
        self._pictures, self._targets = map(torch.from_numpy, fashion())
        self._augment = augment

    def __len__(self) -> int:
        return len(self._pictures)

    def __getitem__(self, index: int) -> Sample:
        return self._augment(Image.fromarray(self._pictures[index].numpy())), int(self._targets[index])


class Batched(Dataset[Any]):
    """Our own source and transforms, a batch at a time: a DataLoader that makes exactly what our nodes make."""

    def __init__(self, data: Data) -> None:
        self._source, _ = data.sources()
        self._transforms = data.loaded_transforms()

    def __len__(self) -> int:
        return len(self._source)

    def __getitem__(self, index: int) -> Any:
        return self.__getitems__([index])

    def __getitems__(self, indices: list[int]) -> tuple[Tensor, Tensor]:
        batch, draws = self._source.read(indices), Draws(0, 0, np.array(indices))
        inputs = batch.inputs
        for transform in self._transforms:
            inputs = transform.apply(inputs, draws)
        return inputs, batch.targets


@contextmanager
def loaded(dataset: Dataset[Any], workers: int = WORKERS) -> Iterator[Iterator[Tensor]]:
    """The inputs of batch after batch, over epoch after epoch; more than two batches ahead per worker bring no more."""
    torch.set_num_threads(1)
    options: dict[str, Any] = {"prefetch_factor": 2, "persistent_workers": True} if workers else {}
    if isinstance(dataset, Batched):
        options["collate_fn"] = _as_it_is
    with closing(_inputs(DataLoader(dataset, BATCH, shuffle=True, num_workers=workers, **options))) as batches:
        yield batches


@contextmanager
def web_dataset(package: Path, shards: Path, augment: Augmentation) -> Iterator[Iterator[Tensor]]:
    """The same by the package webdataset, which lies in a folder of its own."""
    sys.path.insert(0, str(package))
    import webdataset

    torch.set_num_threads(1)
    urls = sorted(str(each) for each in shards.iterdir())
    dataset = webdataset.WebDataset(urls, shardshuffle=len(urls)).shuffle(1000).decode("pill").to_tuple("png", "cls")
    dataset = dataset.map_tuple(augment, int).batched(BATCH)
    loader = webdataset.WebLoader(dataset, batch_size=None, num_workers=WORKERS, persistent_workers=True)
    with closing(_inputs(loader)) as batches:
        yield batches


def _inputs(batches: Iterable[Any]) -> Iterator[Tensor]:
    while True:
        for inputs, _targets in batches:
            yield inputs


def _as_it_is(batch: Any) -> Any:
    return batch
