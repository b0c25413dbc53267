"""What the user wants and what was decided: values only, no torch.

>>> job = job_from({"model": "resnet", "data": "digits", "task": "classification"})
>>> job.training.optimizer, str(job.training.until)
(Choice('AdamW'), '3ep')
"""

from stretto.job.budget import Budget
from stretto.job.choice import Choice
from stretto.job.finding import find, make
from stretto.job.job import Job
from stretto.job.plan import Plan
from stretto.job.reading import impossible, job_from, read_job
from stretto.job.schema import json_schema
from stretto.job.seat import Seat

__all__ = [
    "Budget", "Choice", "Job", "Plan", "Seat", "find", "impossible", "job_from", "json_schema", "make", "read_job",
]  # fmt: skip
