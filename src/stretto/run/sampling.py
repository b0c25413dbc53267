"""A sampling node's side of a run, and the workers' way to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any, Final

from stretto.communicate.control_client import ControlClient
from stretto.communicate.messages import StopTraining, StoreSet, StoreWait
from stretto.job import Plan, Seat
from stretto.roles.samplers import Find, Samplers
from stretto.roles.sampling_node import SamplingNode, Stock
from stretto.roles.served import ServedAssembly, ServedSource, describe
from stretto.run.equipment import Data, make_assembler, open_data

ANSWER_S: Final = 60.0


def serve_samples(client: ControlClient, plan: Plan, seat: Seat, objects: Mapping[str, Any]) -> dict[str, Any]:
    """What every sampling node does: open the data, tell where it is, and serve until the run is over."""
    job = plan.job

    def open_stock() -> Stock:
        training, validation = open_data(job, objects, client.report)
        assembler = make_assembler(job, training)
        return Stock(assembler=assembler, training=training, validation=validation, seed=job.training.seed)

    def publish(address: str) -> None:
        client.request(StoreSet(key=_key(seat.rank), value=address.encode()))
        client.ready()

    return SamplingNode(open_stock, client.parcel_key, publish=publish, wait=lambda: _wait_for_end(client)).run()


@contextmanager
def data_elsewhere(client: ControlClient, plan: Plan, seat: Seat) -> Iterator[Data | None]:
    """The data as sampling nodes hand it out, while the body runs; None in a run that has none of them."""
    count = plan.job.cluster.samplers
    if not count:
        yield None
        return
    find, key = _finder(client), client.parcel_key
    with closing(Samplers(count, find, key)) as training, closing(Samplers(count, find, key)) as validation:
        yield _data(plan, seat, training, validation)


def _data(plan: Plan, seat: Seat, training: Samplers, validation: Samplers) -> Data:
    described, pin = describe(training), seat.device != "cpu"
    return Data(
        assembly=ServedAssembly(training, described, rank=seat.rank, ahead=plan.job.loading.ahead, pin=pin),
        facts=described["facts"],
        validation=ServedSource(validation, described["name"], described["validation"], rank=seat.rank),
    )


def _finder(client: ControlClient) -> Find:
    def find(sampler: int, wait_s: float) -> str | None:
        answer = client.request(StoreWait(keys=(_key(sampler),), timeout_s=wait_s), wait_s + ANSWER_S)
        return answer.values[0].decode() if answer.found else None

    return find


def _key(sampler: int) -> str:
    return f"sampler/{sampler}"


def _wait_for_end(client: ControlClient) -> str:
    while True:
        for message in client.await_push():
            if isinstance(message, StopTraining):
                return message.reason
