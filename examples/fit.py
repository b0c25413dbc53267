"""A model and tensors as they are, trained by one call on two workers."""

import torch
from sklearn.datasets import load_digits
from torch import nn

import stretto

pictures, digits = load_digits(return_X_y=True)
inputs, targets = torch.tensor(pictures / 16, dtype=torch.float32), torch.tensor(digits)
model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))

result = stretto.fit(
    model,
    (inputs, targets),
    workers=2,
    until="20ep",
    lr=0.01,
    stop={"target": {"accuracy": 0.97}},
    checkpoint={"best": "accuracy"},
)

print(f"{result.reason}; accuracy {result.metrics['accuracy']:.4f}; everything is in {result.folder}")
