"""Fine-tune prototypes and projection on the spans of a support set."""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy
from thinc.api import Model, Ops, torch2xp, xp2torch

from ..encoder.optimizer import make_adam
from ..errors import LearningError
from ..recognizer.spans import SpanPool, cover, sample_nones
from ..recognizer.task import OnStep, has_stopped_falling, split_evenly
from ..types import Spans, TokenVectors
from .losses import get_loss
from .model import get_head_network, project_spans
from .settings import EPNetSettings
from .types import HeadOutput, Rows

if TYPE_CHECKING:
    import torch

    from .network import SpanPrototypeNetwork

STEP_LIMIT = "the step limit was reached"
NO_FALL = "the loss stopped falling"
LOW_ENOUGH = "the loss was low enough"
NO_EXAMPLES = "there are no examples"
# Passes over which the loss is averaged before it is said to be low.
SMOOTHING = 3


@dataclass
class Tuning:
    """How fine-tuning went."""

    losses: list[float] = field(default_factory=list)  # in each pass or after it
    steps: int = 0
    stopped: str = STEP_LIMIT

    def add(self, loss: float, settings: EPNetSettings.Adapt) -> None:
        """Note a loss, once in a pass over the support set."""
        self.losses.append(loss)
        recent = self.losses[-SMOOTHING:]
        if has_stopped_falling(self.losses, settings.patience):
            self.stopped = NO_FALL
        elif len(recent) == SMOOTHING and fmean(recent) < settings.target_loss:
            self.stopped = LOW_ENOUGH


def tune(
    head: Model[Any, Any],
    tokens: TokenVectors,
    pool: SpanPool,
    rows: Rows,
    settings: EPNetSettings.Adapt,
    *,
    tau: float,
    trained_rows: list[int],
    trains_projection: bool,
    on_step: OnStep = lambda step, loss: None,
) -> Tuning:
    """Fine-tune a head until its loss stops falling or there were enough steps.

    tokens (TokenVectors): The support set.
    pool (SpanPool): The spans of the support set.
    rows (Rows): The prototypes in use, None's first.
    tau (float): Mean squared distance wanted between prototypes.
    trained_rows (List[int]): The prototypes that may move.
    trains_projection (bool): Whether the projection may move as well.
    on_step (Callable[[int, float], object]): Told of each step and its loss.
    RETURNS (Tuning): How it went.
    """
    if not len(pool.entities):
        return Tuning(stopped=NO_EXAMPLES)
    ops = head.ops
    training = PartialTraining(
        head, rows=trained_rows, trains_projection=trains_projection, lr=settings.lr
    )
    tau_in_loss = tau if settings.dispersion_loss else None
    tuning = Tuning()
    once = None
    # Training loss is noisy; patience watches a fixed sample without dropout.
    watched = sample(pool, settings, ops) if settings.patience else None
    batch_size = settings.batch_size
    if batch_size is None and trains_projection:
        batch_size = choose_batch_size(pool)
    if not settings.resample_nones:
        pool = sample(pool, settings, ops)
        once = pool.flatten(ops=ops) if batch_size is None else None
    with training.open():
        if watched is not None:
            tuning.add(
                measure_loss(head, tokens, watched, rows, tau=tau_in_loss), settings
            )
        while tuning.stopped == STEP_LIMIT and tuning.steps < settings.max_steps:
            losses = []
            for batch in iter_batches(pool, batch_size, ops):
                spans, targets = once or sample(batch, settings, ops).flatten(ops=ops)
                outputs, backprop = training.begin_update(
                    tokens, spans, rows, dropout=settings.dropout
                )
                with numpy.errstate(over="ignore", invalid="ignore"):
                    parts, gradient = get_loss(outputs, targets, tau=tau_in_loss)
                loss = sum(parts.values())
                if not math.isfinite(loss):
                    raise LearningError(
                        f"The loss is no number any more after {tuning.steps} "
                        "steps, so nothing was learned. The learning rate is too "
                        f"high: {settings.lr}. Lower adapt.lr."
                    )
                backprop(gradient)
                training.finish_update()
                tuning.steps += 1
                losses.append(loss)
                on_step(tuning.steps, loss)
                if settings.average:
                    training.add_to_average(settings.average)
                if tuning.steps == settings.max_steps:
                    break
            passed = fmean(losses)
            if watched is not None:
                passed = measure_loss(head, tokens, watched, rows, tau=tau_in_loss)
            tuning.add(passed, settings)
        if settings.average:
            training.use_average()
    return tuning


def iter_batches(pool: SpanPool, size: int | None, ops: Ops) -> Iterator[SpanPool]:
    """Distribute the sentences of a support set to batches, at random.

    pool (SpanPool): The spans of the support set.
    size (Optional[int]): The most sentences in a batch. All if null.
    YIELDS (SpanPool): The spans of each batch.
    """
    if size is None:
        yield pool
        return
    xp: Any = ops.xp
    every = xp.concatenate([pool.entity_sentences, pool.none_sentences])
    sentences = xp.random.permutation(xp.unique(every))
    for start in range(0, len(sentences), size):
        yield pool.take_sentences(sentences[start : start + size], ops=ops)


def choose_batch_size(pool: SpanPool) -> int | None:
    """Choose how many sentences are in a batch, or None for all."""
    count = len({*pool.entity_sentences.tolist(), *pool.none_sentences.tolist()})
    first, *others = split_evenly([0] * count)
    return first.stop if others else None


def sample(pool: SpanPool, settings: EPNetSettings.Adapt, ops: Ops) -> SpanPool:
    """Sample None spans as the settings say."""
    return sample_nones(
        pool, count=settings.none_samples, hard_share=settings.hard_nones, ops=ops
    )


def measure_loss(
    head: Model[Any, Any],
    tokens: TokenVectors,
    pool: SpanPool,
    rows: Rows,
    *,
    tau: float | None,
) -> float:
    """Find the loss of some spans, without dropout. See `get_loss`."""
    spans, targets = pool.flatten(ops=head.ops)
    parts, _ = get_loss(head.predict((tokens, spans, rows)), targets, tau=tau)
    return sum(parts.values())


class PartialTraining:
    """Trains some of a head's prototypes, and its projection if wanted.

    rows (List[int]): The prototypes to train.
    trains_projection (bool): Whether to train the projection as well.
    lr (float): The learning rate.
    """

    def __init__(
        self,
        head: Model[Any, Any],
        *,
        rows: list[int],
        trains_projection: bool,
        lr: float,
    ):
        self.head = head
        self.optimizer = make_adam(lr, L2=0.0, grad_clip=1.0, use_averages=False)
        self.rows = rows
        self.trains_projection = trains_projection
        self._spans: Spans | None = None
        self._points: Any = None
        self._shim: Any = head.shims[0]
        layers = [self._network.projection, self._network.edges]
        self._trained = [self._network.prototypes]
        if trains_projection:
            self._trained += [w for layer in layers for w in layer.parameters()]
        self._average: list[torch.Tensor] = []
        self._n_averaged = 0

    @property
    def _network(self) -> "SpanPrototypeNetwork":
        return get_head_network(self.head)

    @contextmanager
    def open(self) -> Iterator["PartialTraining"]:
        """Hold all other weights while it is open."""
        attrs = dict(self.head.attrs)
        self.head.attrs["trains_tokens"] = False
        trained = set(map(id, self._trained))
        for weight in self._network.parameters():
            weight.requires_grad_(id(weight) in trained)
        try:
            yield self
        finally:
            self.head.attrs.update(attrs)
            self._network.zero_grad()
            for weight in self._network.parameters():
                weight.requires_grad_(True)

    def begin_update(
        self, tokens: TokenVectors, spans: Spans, rows: Rows, *, dropout: float
    ) -> tuple[HeadOutput, Any]:
        """Measure spans, and prepare to learn from it."""
        if self.trains_projection:
            self.head.attrs["dropout_rate"] = dropout
            return self._begin_update(tokens, spans, rows)
        if spans is not self._spans:
            # Nothing below the prototypes moves, so that spans are projected once.
            self._spans, self._points = spans, project_spans(self.head, tokens, spans)
        return self._measure(rows)

    def _begin_update(
        self, tokens: TokenVectors, spans: Spans, rows: Rows
    ) -> tuple[HeadOutput, Any]:
        # A batch may be a small part of the support set, and pools its own tokens only.
        used = cover(spans, len(tokens), ops=self.head.ops)
        positions = used.cumsum() - 1
        moved = spans.copy()
        moved[:, 0] = positions[spans[:, 0]]
        return self.head.begin_update((tokens[used], moved, rows))

    def _measure(self, rows: Rows) -> tuple[HeadOutput, Any]:
        import torch

        points = xp2torch(self._points, device=self._shim.device)
        chosen = xp2torch(rows, device=self._shim.device).long()
        outputs = self._network.measure(points, chosen)

        def backprop(gradients: HeadOutput) -> None:
            d_outputs = [xp2torch(d, device=self._shim.device) for d in gradients]
            torch.autograd.backward(outputs, d_outputs)

        return tuple(torch2xp(output.detach()) for output in outputs), backprop

    def finish_update(self) -> None:
        """Move the weights, but of the prototypes only those that are trained."""
        gradient = self._network.prototypes.grad
        assert gradient is not None, "set by backprop"
        kept = gradient[self.rows].clone()
        gradient.zero_()
        gradient[self.rows] = kept
        self.head.finish_update(self.optimizer)
        self.optimizer.step_schedules()  # type: ignore[no-untyped-call]

    def add_to_average(self, span: int) -> None:
        """Take the weights as they are now into a moving average.

        span (int): About as many of the last weights make it up.
        """
        import torch

        self._n_averaged = min(self._n_averaged + 1, span)
        if not self._average:
            self._average = [weight.detach().clone() for weight in self._trained]
            return
        with torch.no_grad():
            for mean, weight in zip(self._average, self._trained, strict=True):
                mean.lerp_(weight, 1 / self._n_averaged)

    def use_average(self) -> None:
        """Set the weights to their moving average."""
        import torch

        with torch.no_grad():
            for weight, mean in zip(self._trained, self._average, strict=True):
                weight.copy_(mean)
