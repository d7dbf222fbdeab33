"""Fine-tuning on the spans of a support set."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any

import numpy
from thinc.api import Model, Ops

from ..errors import LearningError
from ..recognizer.span_pool import SpanPool, sample_nones
from ..recognizer.task import OnStep, has_stopped_falling, split_evenly
from ..types import TokenVectors
from .losses import get_loss
from .settings import EPNetSettings
from .types import Rows

STEP_LIMIT = "the step limit was reached"
NO_FALL = "the loss stopped falling"
LOW_ENOUGH = "the loss was low enough"
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

    head (Model): The head.
    tokens (TokenVectors): The support set.
    pool (SpanPool): The spans of the support set.
    rows (Rows): The prototypes in use, None's first.
    settings (EPNetSettings.Adapt): The settings of the adaptation.
    tau (float): Mean squared distance wanted between prototypes.
    trained_rows (List[int]): The prototypes that may move.
    trains_projection (bool): Whether the projection may move as well.
    on_step (Callable[[int, float], object]): Told of each step and its loss.
    RETURNS (Tuning): How it went.
    """
    from .partial_training import PartialTraining

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
    ops (Ops): Where the arrays are made.
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
