"""A decoder that predicts the next token, as GPT does."""

from __future__ import annotations

from typing import cast

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from stretto.errors import ModelError


class Transformer(nn.Module):
    """A stack of `depth` blocks of causal attention and a small network, each normalising what it reads.

    The matrix that embeds the tokens also scores them at the end. `length` is the most tokens it can look back on.
    """

    def __init__(
        self,
        vocabulary: int = 256,
        length: int = 128,
        width: int = 128,
        depth: int = 4,
        heads: int = 4,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if heads < 1 or width % heads:
            raise ModelError(f"a width of {width} cannot be cut into {heads} heads; model.width is a multiple of heads")
        self.tokens = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(length, width)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.Sequential(*(Block(width, heads, dropout) for _ in range(depth)))
        self.norm = nn.LayerNorm(width)
        _initialise(self, depth)

    def forward(self, tokens: Tensor) -> Tensor:
        """Return for every token (n, length) the logits of the one after it: (n, length, vocabulary)."""
        places = torch.arange(tokens.shape[1], device=tokens.device)
        if len(places) > self.places.num_embeddings:
            raise ModelError(f"{len(places)} tokens do not fit into model.length = {self.places.num_embeddings}")
        embedded = self.dropout(self.tokens(tokens) + self.places(places))
        return F.linear(self.norm(self.blocks(embedded)), self.tokens.weight)


class Block(nn.Module):
    """Attention, then a network for every token by itself, each added to what came in."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.attention = nn.Sequential(nn.LayerNorm(width), Attention(width, heads, dropout), nn.Dropout(dropout))
        network = (nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.network = nn.Sequential(nn.LayerNorm(width), *network, nn.Dropout(dropout))

    def forward(self, inputs: Tensor) -> Tensor:
        """Return the tokens (n, length, width), each knowing more of those before it."""
        attended = inputs + self.attention(inputs)
        return cast(Tensor, attended + self.network(attended))


class Attention(nn.Module):
    """Every token gathers from those before it, and itself, what its heads ask for."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.questions = nn.Linear(width, 3 * width)
        self.answer = nn.Linear(width, width)

    def forward(self, inputs: Tensor) -> Tensor:
        """Return (n, length, width)."""
        samples, length, width = inputs.shape
        parts = self.questions(inputs).view(samples, length, 3, self.heads, width // self.heads)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        dropped = self.dropout if self.training else 0.0
        gathered = F.scaled_dot_product_attention(query, key, value, dropout_p=dropped, is_causal=True)
        return cast(Tensor, self.answer(gathered.transpose(1, 2).reshape(samples, length, width)))


def _initialise(model: Transformer, depth: int) -> None:
    for name, parameter in model.named_parameters():
        if parameter.dim() > 1:
            # What is added to the stream is made smaller the more often it is added, as in GPT-2.
            adds = name.endswith(("answer.weight", "network.3.weight"))
            nn.init.normal_(parameter, std=0.02 / (2 * max(depth, 1)) ** 0.5 if adds else 0.02)
        elif name.endswith("bias"):
            nn.init.zeros_(parameter)
