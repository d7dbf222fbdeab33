"""Fine-tuning on the spans of a support set."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, TypeAlias

import numpy
from thinc.api import Model, Ops

from ..errors import Errors
from ..gold import SpanPool, sample_nones
from ..losses import get_dispersion_loss, get_span_loss
from ..models.tuning import HeadTuner
from ..types import HeadOutput, Rows, Targets
from .encoding import Encode
from .settings import AdaptSettings

OnStep: TypeAlias = Callable[[int, float], object]

STEP_LIMIT = "the step limit was reached"
NO_FALL = "the loss stopped falling"
LOW_ENOUGH = "the loss was low enough"
# Sentences in a step, unless the settings say how many.
MAX_SENTENCES = 64
# Passes over which the loss is averaged before it is said to be low.
SMOOTHING = 3


@dataclass
class Tuning:
    """How fine-tuning went."""

    losses: list[float] = field(default_factory=list)  # of each pass
    steps: int = 0
    stopped: str = STEP_LIMIT
    best: int = 0  # the pass with the smallest loss, from 0

    def add(self, loss: float, settings: AdaptSettings) -> None:
        """Note the loss of a pass over the support set."""
        self.losses.append(loss)
        if loss < self.losses[self.best]:
            self.best = len(self.losses) - 1
        waited = len(self.losses) - 1 - self.best
        recent = self.losses[-SMOOTHING:]
        if settings.patience and waited >= settings.patience:
            self.stopped = NO_FALL
        elif len(recent) == SMOOTHING and fmean(recent) < settings.target_loss:
            self.stopped = LOW_ENOUGH


def tune(
    head: Model,
    encode: Encode,
    pool: SpanPool,
    rows: Rows,
    settings: AdaptSettings,
    *,
    tau: float,
    trained_rows: list[int],
    on_step: OnStep = lambda step, loss: None,
) -> Tuning:
    """Fine-tune a head until its loss stops falling or there were enough steps.

    head (Model): The head.
    encode (Encode): Gives the token vectors of the support set.
    pool (SpanPool): The spans of the support set.
    rows (Rows): The prototypes in use, None's first.
    settings (AdaptSettings): How to go about it.
    tau (float): Mean squared distance wanted between prototypes.
    trained_rows (List[int]): The prototypes that may move.
    on_step (Callable[[int, float], object]): Told of each step and its loss.
    RETURNS (Tuning): How it went.
    """
    ops = head.ops
    tuner = HeadTuner(
        head,
        n_layers=settings.trained_layers,
        rows=trained_rows,
        lr=settings.lr,
        trains_tokens=settings.encoder_layers > 0,
    )
    tuning = Tuning()
    best: Any = None
    once = None
    batch_size = choose_batch_size(pool, settings)
    if not settings.resample_nones:
        pool = sample(pool, settings, ops)
        once = pool.flatten(ops=ops) if batch_size is None else None
    with tuner.open():
        while tuning.stopped == STEP_LIMIT and tuning.steps < settings.max_steps:
            losses = []
            before = tuner.copy_weights() if settings.restore_best else None
            for batch in iter_batches(pool, batch_size, ops):
                spans, targets = once or sample(batch, settings, ops).flatten(ops=ops)
                tokens, backprop_tokens = encode()
                outputs, backprop = tuner.begin_update(
                    tokens, spans, rows, dropout=settings.dropout
                )
                with numpy.errstate(over="ignore", invalid="ignore"):
                    loss, gradient = get_loss(outputs, targets, rows, settings, tau=tau)
                if not math.isfinite(loss):
                    raise ValueError(
                        Errors.EP031.format(steps=tuning.steps, lr=settings.lr)
                    )
                backprop_tokens(backprop(gradient))
                tuner.finish_update()
                tuning.steps += 1
                losses.append(loss)
                on_step(tuning.steps, loss)
                if settings.average:
                    tuner.add_to_average(settings.average)
                if tuning.steps == settings.max_steps:
                    break
            tuning.add(fmean(losses), settings)
            if tuning.best == len(tuning.losses) - 1:
                best = before
        if settings.restore_best:
            tuner.set_weights(best)
        elif settings.average:
            tuner.use_average()
    return tuning


def iter_batches(pool: SpanPool, size: int | None, ops: Ops) -> Iterator[SpanPool]:
    """Deal the sentences of a support set out to batches, at random.

    pool (SpanPool): The spans of the support set.
    size (Optional[int]): The most sentences in a batch. All if null.
    ops (Ops): Where the arrays are made.
    YIELDS (SpanPool): The spans of each batch.
    """
    if size is None:
        yield pool
        return
    xp: Any = ops.xp
    every = xp.concatenate([pool.entity_segments, pool.none_segments])
    segments = xp.random.permutation(xp.unique(every))
    for start in range(0, len(segments), size):
        yield pool.take_segments(segments[start : start + size], ops=ops)


def choose_batch_size(pool: SpanPool, settings: AdaptSettings) -> int | None:
    """Sentences in a batch, or null for all.

    A large support set is learned in parts of about the same size, so that the time
    it takes doesn't grow faster than the set. Nothing is gained by that if all of it is
    encoded in each step, or only prototypes are trained.
    """
    size = settings.batch_size
    if size is not None or settings.encoder_layers or not settings.trained_layers:
        return size
    count = len({*pool.entity_segments.tolist(), *pool.none_segments.tolist()})
    n_batches = math.ceil(count / MAX_SENTENCES)
    return math.ceil(count / n_batches) if n_batches > 1 else None


def sample(pool: SpanPool, settings: AdaptSettings, ops: Ops) -> SpanPool:
    """Sample None spans as the settings say."""
    if settings.none_samples is None:
        return pool
    return sample_nones(
        pool, count=settings.none_samples, hard_share=settings.hard_nones, ops=ops
    )


def get_loss(
    outputs: HeadOutput,
    targets: Targets,
    rows: Rows,
    settings: AdaptSettings,
    *,
    tau: float,
) -> tuple[float, HeadOutput]:
    """Find the loss of a step and its gradient.

    outputs (HeadOutput): What the head gave.
    targets (Targets): The column of each span.
    rows (Rows): The prototypes in use.
    settings (AdaptSettings): What None weighs, and which prototypes are dispersed.
    tau (float): Mean squared distance wanted between prototypes.
    RETURNS (Tuple[float, HeadOutput]): The loss, and its gradient with respect to the
        head's outputs.
    """
    distances, prototypes = outputs
    loss, d_distances = get_span_loss(
        distances, targets, none_weight=settings.none_weight
    )
    d_prototypes: Any = prototypes * 0
    if settings.dispersion == "all":
        dispersion, d_prototypes = get_dispersion_loss(prototypes, tau)
        loss += dispersion
    elif settings.dispersion == "assigned":
        dispersion, d_assigned = get_dispersion_loss(prototypes[rows], tau)
        d_prototypes[rows] = d_assigned
        loss += dispersion
    return loss, (d_distances, d_prototypes)
