"""How workers agree: what travels, with whom, when, and how it is combined."""

from __future__ import annotations

from stretto.errors import JobError, Problem
from stretto.job import Choice
from stretto.strategies.local_sgd import LocalSgd
from stretto.strategies.strategy import Strategy
from stretto.strategies.synchronous import Synchronous

STRATEGIES: dict[str, type[Synchronous] | type[LocalSgd]] = {"synchronous": Synchronous, "local_sgd": LocalSgd}


def load_strategy(choice: Choice) -> Strategy:
    """Make the strategy a job names."""
    try:
        return STRATEGIES[choice.name](**choice.arguments)
    except TypeError as error:
        raise JobError((Problem(message=f"strategy {choice.name}: {error}", key="strategy"),)) from error
