"""A quick look at all spans of a batch, to find the few that can be entities.

Nearly all spans are nothing, and it takes little to see that:

- Spans of one width are pooled together, by a running maximum over the tokens.
- What a width adds to the first layer is the same for all of its spans, and what a
  first or last token adds is the same for all spans that begin or end with it.
- Only by how much a type is nearer than None counts. The norm of the projected span
  cancels out of that, so that the last layer folds into the prototypes.
- Half precision is enough, on machines that compute in it.

A span passes if it can be an entity, in view of how much all this rounds, which is
measured on a sample. What passes is measured again as in training, so that the
predictions are those of the plain network.
"""

from typing import Any

import torch
from thinc.api import Model, torch2xp, xp2torch
from torch import Tensor
from torch.nn import functional as F

from .._compat import get_network
from ..encoder.networks import get_fastest_dtype
from ..types import Ints1d, Spans, TokenVectors
from .network import SpanPrototypeNetwork
from .types import Rows

# Spans that rounding is measured on, and how much more is allowed for.
SAMPLE_SIZE = 256
SAFETY = 8.0

# Rows of a matrix product. To prepare for a new number of them takes a third as long as
# the product itself, so it is always the same.
BLOCK_SIZE = 512


class CandidateFilter:
    """Lets the spans pass that can be entities.

    rows_in_use (List[Rows]): The prototypes of each generation, None's first.
    dtype (Optional[torch.dtype]): What to compute in. By default the fastest.
    """

    def __init__(
        self,
        head: Model[Any, Any],
        rows_in_use: list[Rows],
        *,
        dtype: torch.dtype | None = None,
    ):
        shim: Any = head.shims[0]
        self.ops = head.ops
        self.device = shim.device
        self.dtype = dtype or get_fastest_dtype(self.device)
        self.network: SpanPrototypeNetwork = get_network(shim)
        self.rows_in_use = [
            xp2torch(rows, device=self.device).long() for rows in rows_in_use
        ]
        self.folds = self.network.folds
        layers = [*self.network.projection]
        first, *others = layers[:-1] if self.folds else layers
        with torch.inference_mode():
            embeddings = self.network.width_embeddings.weight
            n_tokens = first.in_features - embeddings.shape[1]
            by_token, by_width = first.weight[:, :n_tokens], first.weight[:, n_tokens:]
            self.first = by_token.to(self.dtype)
            self.width_biases = (embeddings @ by_width.T + first.bias).to(self.dtype)
            self.edges = [layer.weight.to(self.dtype) for layer in self.network.edges]
            self.others = [
                (layer.weight.to(self.dtype), layer.bias.to(self.dtype))
                for layer in others
            ]
            self.contrasts = [self._get_contrast(rows) for rows in self.rows_in_use]
        # The largest error of each generation so far, and how many spans it is from.
        self.rounding = [0.0] * len(rows_in_use)
        self.n_measured = 0

    def _get_contrast(self, rows: Tensor) -> list[Tensor]:
        """Return the layer that tells by how much types are nearer than None."""
        prototypes = self.network.get_prototypes()[rows]
        weight, bias = self.network.fold(prototypes)
        return [(part[:1] - part[1:]).to(self.dtype) for part in (weight, bias)]

    def select(self, tokens: TokenVectors, starts: list[Ints1d]) -> list[Spans]:
        """Find the spans that can be entities.

        tokens (TokenVectors): A part of the batch.
        starts (List[Ints1d]): The first tokens of the candidates of each width.
        RETURNS (List[Spans]): What passes for each generation.
        """
        vectors = xp2torch(tokens, device=self.device)
        starts_by_width = [xp2torch(part, device=self.device).long() for part in starts]
        with torch.inference_mode():
            if self.n_measured < SAMPLE_SIZE:
                self._measure_rounding(vectors, starts_by_width)
            passed = self._select(vectors.to(self.dtype), starts_by_width)
        return [torch2xp(spans) for spans in passed]  # type: ignore[misc]

    def _select(self, vectors: Tensor, starts_by_width: list[Tensor]) -> list[Tensor]:
        limits = [-SAFETY * error for error in self.rounding]
        starts, widths = flatten(starts_by_width)
        leads = self._get_leads(vectors, starts_by_width)
        spans = torch.stack([starts, widths], dim=1).int()
        return [
            spans[lead.amax(dim=1) > limit]
            for lead, limit in zip(leads, limits, strict=True)
        ]

    def _get_leads(
        self, vectors: Tensor, starts_by_width: list[Tensor]
    ) -> list[Tensor]:
        """Return by how much each type of a generation is nearer to spans than None."""
        pooled = self._pool(vectors, starts_by_width)
        starts, widths = flatten(starts_by_width)
        ends = (starts, starts + widths - 1)
        # Tables whose rows are added up to what the first layer begins with.
        terms = [(self.width_biases, widths - 1)]
        for weight, tokens in zip(self.edges, ends, strict=False):
            terms.append((F.linear(vectors, weight), tokens))
        blocks = []
        for i in range(0, max(1, len(pooled)), BLOCK_SIZE):
            block = slice(i, i + BLOCK_SIZE)
            biases = sum(table[rows[block]] for table, rows in terms)
            blocks.append(self._get_leads_in_block(pooled[block], biases))
        return [torch.cat(parts)[: len(pooled)] for parts in zip(*blocks, strict=True)]

    def _get_leads_in_block(self, pooled: Tensor, biases: Tensor) -> list[Tensor]:
        filling = (0, 0, 0, BLOCK_SIZE - len(pooled))
        spans = torch.addmm(
            F.pad(biases, filling), F.pad(pooled, filling), self.first.T
        )
        for weight, bias in self.others:
            spans = F.linear(spans.relu_(), weight, bias)
        if self.folds:
            spans.relu_()
        else:
            spans = self.network.project_to_sphere(spans)
        return [F.linear(spans, *contrast) for contrast in self.contrasts]

    def _pool(self, vectors: Tensor, starts_by_width: list[Tensor]) -> Tensor:
        """Pool the candidates of all widths."""
        counts = [len(starts) for starts in starts_by_width]
        pooled = vectors.new_empty((sum(counts), vectors.shape[1]))
        maxima = vectors
        for i, (starts, part) in enumerate(
            zip(starts_by_width, pooled.split(counts), strict=True)
        ):
            if i:
                maxima = torch.maximum(maxima[:-1], vectors[i:])
            torch.index_select(maxima, 0, starts, out=part)
        return pooled

    def _measure_rounding(self, vectors: Tensor, starts_by_width: list[Tensor]) -> None:
        """See how far off the leads of some spans of each width are."""
        self.network.eval()  # no dropout
        share = -(-SAMPLE_SIZE // len(starts_by_width))
        samples = [
            starts[:: max(1, len(starts) // share)] for starts in starts_by_width
        ]
        projected = self.network.project(self.network.embed(vectors, *flatten(samples)))
        found = self._get_leads(vectors.to(self.dtype), samples)
        for i, leads in enumerate(found):
            distances, _ = self.network.measure(projected, self.rows_in_use[i])
            exact = distances[:, :1] - distances[:, 1:]
            errors = (exact - leads).abs()
            self.rounding[i] = max([self.rounding[i], *errors.amax(dim=1).tolist()])
        self.n_measured += len(projected)


def flatten(starts_by_width: list[Tensor]) -> tuple[Tensor, Tensor]:
    """Return the first token of each candidate, and how wide it is.

    starts_by_width (List[Tensor]): The first tokens of the candidates of each width.
    """
    counts = torch.tensor([len(starts) for starts in starts_by_width])
    widths = torch.arange(1, len(starts_by_width) + 1).repeat_interleave(counts)
    starts = torch.cat(starts_by_width)
    return starts, widths.to(starts.device)
