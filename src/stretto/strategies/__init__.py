"""How workers agree: what travels, with whom, when, and how it is combined."""

from __future__ import annotations

from typing import Final

from stretto.errors import JobError
from stretto.job import Choice, make
from stretto.strategies.strategy import Strategy

STRATEGIES: Final = {
    "synchronous": "stretto.strategies.synchronous:Synchronous",
    "local_sgd": "stretto.strategies.local_sgd:LocalSgd",
}


def load_strategy(choice: Choice) -> Strategy:
    """Make the strategy a job names."""
    strategy: Strategy = make("strategy", choice, STRATEGIES, JobError.of)
    return strategy
