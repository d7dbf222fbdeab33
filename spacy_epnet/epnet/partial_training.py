"""Training a part of the head while the rest stays as it is."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from thinc.api import Model, torch2xp, xp2torch

from ..encoder.optimizer import make_adam
from ..recognizer.span_pool import cover
from ..types import Spans, TokenVectors
from .head import get_head_network, project_spans
from .network import SpanPrototypeNetwork
from .types import HeadOutput, Rows


class PartialTraining:
    """Trains some of a head's prototypes, and its projection if wanted.

    head (Model): The head.
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
    def _network(self) -> SpanPrototypeNetwork:
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
        points = xp2torch(self._points, device=self._shim.device)
        chosen = xp2torch(rows, device=self._shim.device).long()
        outputs = self._network.measure(points, chosen)

        def backprop(gradients: HeadOutput) -> None:
            d_outputs = [xp2torch(d, device=self._shim.device) for d in gradients]
            torch.autograd.backward(outputs, d_outputs)

        return tuple(torch2xp(output.detach()) for output in outputs), backprop  # type: ignore[return-value]

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
        self._n_averaged = min(self._n_averaged + 1, span)
        if not self._average:
            self._average = [weight.detach().clone() for weight in self._trained]
            return
        with torch.no_grad():
            for mean, weight in zip(self._average, self._trained, strict=True):
                mean.lerp_(weight, 1 / self._n_averaged)

    def use_average(self) -> None:
        """Set the weights to their moving average."""
        with torch.no_grad():
            for weight, mean in zip(self._trained, self._average, strict=True):
                weight.copy_(mean)
