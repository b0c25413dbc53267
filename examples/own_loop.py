"""A loop of one's own on several workers. Without the two lines marked `added` it is plain PyTorch.

Start it with `stretto run examples/own_loop.py --workers 2`, or alone with `python examples/own_loop.py`.
"""

import os

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import stretto  # added

torch.manual_seed(0)
pictures, digits = load_digits(return_X_y=True)
inputs, targets = torch.tensor(pictures / 16, dtype=torch.float32), torch.tensor(digits)
model = nn.Sequential(nn.Linear(64, 128), nn.BatchNorm1d(128), nn.ReLU(), nn.Linear(128, 10))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
loader = DataLoader(TensorDataset(inputs[:1500], targets[:1500]), batch_size=64, shuffle=True)
model, optimizer, loader = stretto.attach(model, optimizer, loader)  # added

for _ in range(5):
    for some_inputs, some_targets in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(some_inputs), some_targets)
        loss.backward()
        optimizer.step()

model.eval()
with torch.no_grad():
    right = (model(inputs[1500:]).argmax(dim=1) == targets[1500:]).float().mean()
if os.environ.get("RANK", "0") == "0":
    print(f"accuracy {right.item():.4f} on pictures it has not seen")
