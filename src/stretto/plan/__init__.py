"""Deciding, before anything starts: who sits where, and why that is possible."""

from stretto.plan.explanation import explain
from stretto.plan.planner import make_plan

__all__ = ["explain", "make_plan"]
