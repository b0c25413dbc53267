"""Is the model good: metrics, validation over all workers, the best model, stopping early."""

from collections.abc import Callable

from stretto.evaluate.metric import Metric
from stretto.evaluate.metrics import Accuracy, Loss, Perplexity

METRICS: dict[str, Callable[[], Metric]] = {"loss": Loss, "accuracy": Accuracy, "perplexity": Perplexity}
