"""Batch normalisation is made synchronised in place, once, and only where there are others to agree with."""

import copy

import pytest
import torch
from seats_world import run_seats
from torch import nn

from stretto.communicate.alone import Alone
from stretto.errors import ModelError, PeerLost
from stretto.model.normalisation import SynchronisedBatchNorm, synchronise


def network():
    shared = nn.BatchNorm1d(4)
    model = nn.Sequential(nn.Linear(3, 4), shared, nn.ReLU(), nn.Sequential(nn.Linear(4, 4), shared))
    model.another_name = shared
    return model


class Pair(Alone):
    """Says that there are two seats, and lets nobody speak."""

    size = 2

    def gather(self, tensor, uneven=False):
        raise AssertionError("nothing was to travel")

    sum = gather


def test_alone_a_model_stays_as_it_is():
    model = network()
    assert synchronise(model, Alone()) is model
    assert not any(isinstance(module, SynchronisedBatchNorm) for module in model.modules())


def test_parameters_buffers_and_names_stay_the_same():
    model = network()
    before, parameters = list(model.state_dict()), set(map(id, model.parameters()))
    assert synchronise(model, Pair()) is model
    assert list(model.state_dict()) == before
    assert set(map(id, model.parameters())) == parameters


def test_a_layer_with_several_names_stays_one_layer():
    model = synchronise(network(), Pair())
    assert model[1] is model[3][1] is model.another_name
    assert isinstance(model[1], SynchronisedBatchNorm)


def test_a_model_that_is_nothing_but_a_layer_is_converted_too():
    assert isinstance(synchronise(nn.BatchNorm2d(3), Pair()), SynchronisedBatchNorm)
    assert isinstance(synchronise(nn.SyncBatchNorm(3), Pair()), SynchronisedBatchNorm)


def test_a_layer_of_ones_own_is_left_alone():
    class Mine(nn.BatchNorm1d):
        pass

    assert type(synchronise(nn.Sequential(Mine(3)), Pair())[0]) is Mine


def test_channels_are_opened_only_where_there_is_something_to_say():
    class NoChannel(Pair):
        def split(self, purpose):
            raise AssertionError("no channel was needed")

    synchronise(nn.Linear(2, 2), NoChannel())


def test_evaluating_says_nothing_and_equals_the_plain_layer():
    plain = network()
    plain(torch.randn(16, 3))
    converted = synchronise(copy.deepcopy(plain), Pair()).eval()
    inputs = torch.randn(5, 3)
    assert torch.equal(converted(inputs), plain.eval()(inputs))


def test_a_copy_speaks_through_the_same_channel_but_has_its_own_weights():
    model = synchronise(nn.Sequential(nn.BatchNorm1d(2)), Pair())
    copied = copy.deepcopy(model)
    assert copied[0].transport is model[0].transport
    assert copied[0].weight is not model[0].weight


def test_hooks_and_mode_are_kept():
    norm, calls = nn.BatchNorm1d(2).eval(), []
    norm.register_forward_hook(lambda *_: calls.append(1))
    model = synchronise(nn.Sequential(norm), Pair())
    model(torch.zeros(3, 2))
    assert calls == [1]
    assert not model[0].training


@pytest.mark.parametrize("samples", [(1, 0), (0, 0)], ids=str)
def test_too_few_values_for_a_variance_are_refused_on_all_seats(samples):
    def body(transport):
        norm = synchronise(nn.BatchNorm1d(2), transport)
        with pytest.raises(ModelError, match=f"saw {sum(samples)} values per channel over all 2 workers"):
            norm(torch.zeros(samples[transport.rank], 2))

    run_seats(2, body)


def test_a_seat_that_leaves_is_not_waited_for():
    def body(transport):
        norm = synchronise(nn.BatchNorm1d(2), transport)
        if transport.rank == 0:
            return
        with pytest.raises(PeerLost):
            norm(torch.zeros(3, 2))

    run_seats(2, body)


def test_one_exchange_forward_and_one_backward_and_none_back_to_the_inputs():
    class Counting:
        def __init__(self, inner):
            self.inner, self.calls = inner, []
            self.rank, self.size = inner.rank, inner.size

        def split(self, purpose):
            return self

        def gather(self, tensor, uneven=False):
            self.calls.append(("gather", len(tensor)))
            return self.inner.gather(tensor)

        def sum(self, tensor):
            self.calls.append(("sum", len(tensor)))
            return self.inner.sum(tensor)

    def body(inner):
        transport = Counting(inner)
        norm = synchronise(nn.BatchNorm2d(3), transport)
        norm(torch.randn(2, 3, 2, 2)).sum().backward()
        first = list(transport.calls)
        norm(torch.randn(2, 3, 2, 2, requires_grad=True)).sum().backward()
        return first, transport.calls

    for first, calls in run_seats(2, body):
        assert first == [("gather", 7)]
        assert calls == [("gather", 7), ("gather", 7), ("sum", 6)]


def test_a_compiled_model_still_speaks():
    torch.manual_seed(0)
    inputs = torch.randn(6, 3)
    expected = nn.Sequential(nn.BatchNorm1d(3), nn.ReLU())(inputs)

    def body(transport):
        model = synchronise(nn.Sequential(nn.BatchNorm1d(3), nn.ReLU()), transport)
        model.compile(backend="eager")
        return model(inputs.split([2, 4])[transport.rank]).detach()

    torch.testing.assert_close(torch.cat(run_seats(2, body)), expected.detach())


def test_one_dimension_is_not_enough():
    with pytest.raises(ModelError, match="got 1 dimensions; it needs samples and channels"):
        synchronise(nn.BatchNorm1d(3), Pair())(torch.zeros(3))
