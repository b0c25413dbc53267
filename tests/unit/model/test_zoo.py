"""The zoo's models are those of their papers: sizes, shapes, arithmetic, and they learn."""

import pytest
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.flop_counter import FlopCounterMode

from stretto.errors import ModelError
from stretto.model.zoo.fbnet import FBNet
from stretto.model.zoo.linear import Linear
from stretto.model.zoo.mlp import Mlp
from stretto.model.zoo.resnet import BasicBlock, Bottleneck, ResNet
from stretto.model.zoo.transformer import Transformer
from stretto.model.zoo.wide_resnet import WideResNet


def size(model):
    return sum(parameter.numel() for parameter in model.parameters())


def on_meta(build):
    with torch.device("meta"):
        return build()


@pytest.mark.parametrize(
    "build, published",
    [
        (lambda: ResNet(depth=20), 0.27e6),
        (lambda: ResNet(depth=56), 0.85e6),
        (lambda: ResNet(depth=110), 1.7e6),
        (lambda: ResNet(depth=18, classes=1000), 11_689_512),
        (lambda: ResNet(depth=34, classes=1000), 21_797_672),
        (lambda: ResNet(depth=50, classes=1000), 25_557_032),
        (lambda: WideResNet(depth=28, widening=10), 36.5e6),
        (lambda: WideResNet(depth=16, widening=8), 11.0e6),
        (lambda: WideResNet(depth=40, widening=4), 8.9e6),
        (lambda: FBNet("a"), 4.3e6),
        (lambda: FBNet("b"), 4.8e6),
        (lambda: FBNet("c"), 5.5e6),
    ],
    ids=["resnet 20", "56", "110", "18", "34", "50", "wrn 28-10", "16-8", "40-4", "fbnet a", "b", "c"],
)
def test_parameters_are_as_many_as_published(build, published):
    tolerance = 0 if isinstance(published, int) else 0.02 * published  # papers round
    assert size(on_meta(build)) == pytest.approx(published, abs=tolerance)


@pytest.mark.parametrize(
    "build, pixels, published",
    [
        (lambda: FBNet("a"), 224, 244.5e6),
        (lambda: FBNet("b"), 224, 291.1e6),
        (lambda: FBNet("c"), 224, 378.2e6),
        (lambda: ResNet(depth=50, classes=1000), 224, 4.09e9),
        (lambda: ResNet(depth=20), 32, 41e6),
    ],
    ids=["fbnet a", "fbnet b", "fbnet c", "resnet 50", "resnet 20"],
)
def test_multiplications_are_as_many_as_published(build, pixels, published):
    model = on_meta(build).eval()
    with FlopCounterMode(display=False) as counter:
        model(torch.zeros(1, 3, pixels, pixels, device="meta"))
    assert counter.get_total_flops() / 2 == pytest.approx(published, rel=0.005)


@pytest.mark.parametrize(
    "build, inputs",
    [
        (lambda: Linear(64, 10), (2, 1, 8, 8)),
        (lambda: Mlp(64, 10, dropout=0.1), (2, 1, 8, 8)),
        (lambda: Mlp(64, 10, depth=0), (2, 64)),
        (lambda: ResNet(depth=8, channels=1), (2, 1, 8, 8)),
        (lambda: ResNet(depth=18, channels=1, width=8), (2, 1, 32, 32)),
        (lambda: ResNet(depth=50, width=8), (2, 3, 32, 32)),
        (lambda: WideResNet(depth=10, widening=1, channels=1, dropout=0.3), (2, 1, 8, 8)),
        (lambda: FBNet("a", classes=10), (2, 3, 32, 32)),
    ],
    ids=["linear", "mlp", "mlp without hidden layers", "small resnet", "large resnet", "bottlenecks", "wide", "fbnet"],
)
def test_every_model_scores_ten_classes_and_takes_no_samples_too(build, inputs):
    model = build().eval()
    assert model(torch.zeros(inputs)).shape == (2, 10)
    assert model(torch.zeros(0, *inputs[1:])).shape == (0, 10)


@pytest.mark.parametrize("depth", [2, 7, 9, 19, 101])
def test_a_depth_that_no_resnet_has_is_refused(depth):
    with pytest.raises(ModelError, match=f"cannot have {depth} layers"):
        ResNet(depth=depth)


@pytest.mark.parametrize("block", [BasicBlock, Bottleneck])
def test_a_block_that_begins_at_zero_begins_as_the_identity(block):
    model = ResNet(depth=50 if block is Bottleneck else 8, zero_init=True)
    blocks = [module for module in model.modules() if isinstance(module, block)]
    identities = [each for each in blocks if isinstance(each.shortcut, nn.Identity)]
    inputs = torch.rand(2, identities[0].convolutions[0].in_channels, 4, 4)
    assert torch.equal(identities[0](inputs), inputs)


def test_fbnet_skips_where_the_search_found_no_block():
    assert [len(on_meta(lambda v=variant: FBNet(v)).blocks) for variant in "abc"] == [19, 21, 21]


def test_fbnet_a_shuffles_its_three_grouped_blocks():
    shuffles = [module for module in on_meta(lambda: FBNet("a")).modules() if isinstance(module, nn.ChannelShuffle)]
    assert len(shuffles) == 3


def transformer(**options):
    torch.manual_seed(0)
    return Transformer(**({"vocabulary": 11, "length": 6, "width": 16, "depth": 2, "heads": 2} | options)).eval()


def test_a_transformer_does_not_look_ahead():
    model, tokens = transformer(), torch.tensor([[1, 2, 3, 4, 5]])
    changed = tokens.clone()
    changed[0, 3] = 9
    before, after = model(tokens), model(changed)
    torch.testing.assert_close(before[0, :3], after[0, :3])
    assert not torch.allclose(before[0, 3:], after[0, 3:])


def test_a_transformer_ties_its_first_matrix_with_its_last():
    model = transformer()
    assert size(model) == 11 * 16 + 6 * 16 + 2 * (12 * 16**2 + 13 * 16) + 2 * 16
    assert [name for name, _ in model.named_parameters() if "head" in name] == []


def test_a_fresh_transformer_finds_all_tokens_equally_likely():
    logits = transformer(vocabulary=256, width=64)(torch.randint(256, (4, 6)))
    loss = F.cross_entropy(logits.flatten(0, 1), torch.randint(256, (24,)))
    assert loss.item() == pytest.approx(5.545, abs=0.15)


def test_more_tokens_than_a_transformer_can_look_back_on_are_refused():
    with pytest.raises(ModelError, match=r"7 tokens do not fit into model\.length = 6"):
        transformer()(torch.zeros(1, 7, dtype=torch.long))


@pytest.mark.parametrize(
    "build, inputs, targets",
    [
        (lambda: ResNet(depth=8, width=8, channels=1), torch.rand(8, 1, 8, 8), torch.arange(8)),
        (lambda: WideResNet(depth=10, widening=1, channels=1), torch.rand(8, 1, 8, 8), torch.arange(8)),
        (lambda: Mlp(9, 10), torch.rand(8, 9), torch.arange(8)),
        (lambda: transformer().train(), torch.arange(6).view(1, 6), torch.arange(1, 7).view(1, 6)),
    ],
    ids=["resnet", "wide_resnet", "mlp", "transformer"],
)
def test_it_learns_a_handful_of_samples_by_heart(build, inputs, targets):
    torch.manual_seed(0)
    model = build()
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(60):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs).flatten(0, -2), targets.flatten())
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.2
