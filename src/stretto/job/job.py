"""What the user wants trained, as one frozen value."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from stretto.job.checkpoint import Checkpoint
from stretto.job.choice import Choice, Words
from stretto.job.cluster import Cluster
from stretto.job.loading import Loading
from stretto.job.observation import Observe, RunFolder
from stretto.job.section import Section
from stretto.job.training import Training
from stretto.job.validation import Stop, Validation
from stretto.job.words import DATA, DEFAULT_METRICS, ENGINES, HIGHER_IS_BETTER, LAYOUTS, MODELS, STRATEGIES, TASKS
from stretto.job.writing import to_yaml


class Job(Section):
    """Everything a job file can say. Make one with `read_job` or `job_from`, which find every mistake at once."""

    model: Annotated[Choice, Words(known=MODELS)] = Field(
        description="What to train: a word of the zoo, or module:Class, with its arguments."
    )
    data: Annotated[Choice, Words(known=DATA)] = Field(
        description="What to learn from: a known source, or module:function, with its arguments."
    )
    task: Annotated[Choice, Words(known=TASKS)] = Field(
        description="What the loss is: a known task, or module:function(outputs, targets) that gives each sample's "
        "loss or their mean."
    )
    training: Training = Field(
        default=Training(), description="How the model is changed by the data, and for how long."
    )
    loading: Loading = Field(default=Loading(), description="How samples become batches.")
    validation: Validation = Field(default=Validation(), description="When the model is judged, and by what.")
    stop: Stop = Field(default=Stop(), description="What ends the training before training.until.")
    checkpoint: Checkpoint = Field(
        default=Checkpoint(), description="When the state is saved, and which checkpoints stay."
    )
    cluster: Cluster = Field(default=Cluster(), description="The processes that train.")
    strategy: Annotated[Choice, Words(known=STRATEGIES)] = Field(
        default=Choice("synchronous"), description="How the workers agree: synchronous, or local_sgd with an interval."
    )
    layout: Annotated[Choice, Words(known=LAYOUTS)] = Field(
        default=Choice("replicated"), description="How the model is cut: replicated keeps it whole on every worker."
    )
    engine: Annotated[Choice, Words(known=ENGINES)] = Field(
        default=Choice("local"), description="Who runs the processes: local starts them here, inline uses threads."
    )
    observe: Observe = Field(default=Observe(), description="What is recorded and shown while training.")
    callbacks: Annotated[tuple[Annotated[Choice, Words()], ...], Field(strict=False)] = Field(
        default=(), description="Callbacks of one's own, each as module:Class with its arguments."
    )
    run: RunFolder = Field(default=RunFolder(), description="Where the run leaves its files.")

    @property
    def metrics(self) -> tuple[Choice, ...]:
        """What a validation measures: the loss first, then what the job names or what suits its task."""
        named = self.validation.metrics
        if named is None:
            named = tuple(map(Choice, DEFAULT_METRICS.get(self.task.name, ())))
        return (Choice("loss"), *(metric for metric in named if metric.name != "loss"))

    def higher_is_better(self, metric: str) -> bool | None:
        """Whether more of a metric is better; None when neither we nor the job know."""
        best = self.checkpoint.best
        if metric == best.name and best.higher is not None:
            return best.higher
        return HIGHER_IS_BETTER.get(metric)

    def to_yaml(self) -> str:
        """The whole job as a file that `read_job` reads back to an equal one, defaults written out."""
        return to_yaml(self.model_dump())
