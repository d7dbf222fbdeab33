"""Fine-tuning a part of the head while the rest stays as it is."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from thinc.api import Adam, Model, torch2xp, xp2torch

from ..gold import cover
from ..types import HeadOutput, Rows, Spans, TokenVectors
from .head import project_spans


class HeadTuner:
    """Trains some of a head's layers and some of its prototypes.

    head (Model): The head.
    n_layers (int): How many layers of the projection to train, from the last.
    rows (List[int]): The prototypes to train.
    lr (float): The learning rate.
    trains_tokens (bool): Whether the gradient of the token vectors is wanted.
    """

    def __init__(
        self,
        head: Model,
        *,
        n_layers: int,
        rows: list[int],
        lr: float,
        trains_tokens: bool = False,
    ):
        self.head = head
        self.optimizer = Adam(lr, L2=0.0, grad_clip=1.0)
        self.rows = rows
        self.n_layers = n_layers
        self._spans: Spans | None = None
        self._points: Any = None
        self.trains_tokens = trains_tokens
        self._shim: Any = head.shims[0]
        layers = list(self._network.projection)
        first = max(0, len(layers) - n_layers)
        self._trained = [
            self._network.prototypes,
            *(weight for layer in layers[first:] for weight in layer.parameters()),
        ]
        self._average: list[torch.Tensor] = []
        self._n_averaged = 0

    @property
    def _network(self):
        return self._shim._model

    @contextmanager
    def open(self) -> Iterator["HeadTuner"]:
        """Hold all other weights while it is open."""
        attrs = dict(self.head.attrs)
        self.head.attrs["trains_tokens"] = self.trains_tokens
        scale, self._shim.learn_rate_scale = self._shim.learn_rate_scale, 1.0
        trained = set(map(id, self._trained))
        for weight in self._network.parameters():
            weight.requires_grad_(id(weight) in trained)
        try:
            yield self
        finally:
            self._shim.learn_rate_scale = scale
            self.head.attrs.update(attrs)
            self._network.zero_grad()
            for weight in self._network.parameters():
                weight.requires_grad_(True)

    def begin_update(
        self, tokens: TokenVectors, spans: Spans, rows: Rows, *, dropout: float
    ) -> tuple[HeadOutput, Any]:
        """Measure spans, and prepare to learn from it."""
        if self.n_layers:
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
        places = used.cumsum() - 1
        moved = spans.copy()
        moved[:, 0] = places[spans[:, 0]]
        outputs, backprop_used = self.head.begin_update((tokens[used], moved, rows))

        def backprop(gradients: HeadOutput) -> TokenVectors:
            d_used = backprop_used(gradients)
            if not self.trains_tokens:
                return d_used
            d_tokens = self.head.ops.alloc2f(*tokens.shape)
            d_tokens[used] = d_used
            return d_tokens

        return outputs, backprop

    def _measure(self, rows: Rows) -> tuple[HeadOutput, Any]:
        points = xp2torch(self._points, device=self._shim.device)
        chosen = xp2torch(rows, device=self._shim.device).long()
        outputs = self._network.measure(points, chosen)

        def backprop(gradients: HeadOutput) -> TokenVectors:
            d_outputs = [xp2torch(d, device=self._shim.device) for d in gradients]
            torch.autograd.backward(outputs, d_outputs)
            return self.head.ops.alloc2f(0, 0)

        return tuple(torch2xp(output.detach()) for output in outputs), backprop  # type: ignore[return-value]

    def finish_update(self) -> None:
        """Move the weights, but of the prototypes only those that are trained."""
        gradient = self._network.prototypes.grad
        kept = gradient[self.rows].clone()
        gradient.zero_()
        gradient[self.rows] = kept
        self.head.finish_update(self.optimizer)
        self.optimizer.step_schedules()

    def copy_weights(self) -> list[torch.Tensor]:
        """The weights as they are now."""
        return [weight.detach().clone() for weight in self._trained]

    def set_weights(self, weights: list[torch.Tensor]) -> None:
        """Go back to weights of another moment."""
        with torch.no_grad():
            for weight, value in zip(self._trained, weights, strict=True):
                weight.copy_(value)

    def add_to_average(self, span: int) -> None:
        """Take the weights as they are now into a moving average.

        span (int): About as many of the last weights make it up.
        """
        self._n_averaged = min(self._n_averaged + 1, span)
        if not self._average:
            self._average = self.copy_weights()
            return
        with torch.no_grad():
            for mean, weight in zip(self._average, self._trained, strict=True):
                mean += (weight - mean) / self._n_averaged

    def use_average(self) -> None:
        """Set the weights to their moving average."""
        self.set_weights(self._average)
