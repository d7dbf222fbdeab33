"""ESD in PyTorch: spans that attend to others, and how far they are from types."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .nones import N_KINDS

# Spans that attend to others at a time, so that memory doesn't grow with the square of
# a sentence's length.
BLOCK = 512


class SpanAttention(nn.Module):
    """Adds to spans what they see in others, by scaled dot products. They are
    normalized, without which their distances grow beyond all bounds in training.

    size (int): Size of a span.
    """

    def __init__(self, size: int):
        super().__init__()
        self.query, self.key, self.value = (
            nn.Linear(size, size, bias=False) for _ in range(3)
        )
        # Others don't count until there is something to learn.
        nn.init.zeros_(self.value.weight)
        self.norm = nn.LayerNorm(size)
        # Squared distances are of the order of the square root of the size then, so
        # that a softmax isn't as good as certain from the start.
        nn.init.constant_(self.norm.weight, size**-0.25)

    def forward(self, spans: Tensor, others: Tensor) -> Tensor:
        """(M, d) Let spans attend to others, which may be none."""
        # Often there are more others than spans. So it's the spans that are mapped to
        # be compared with them, and the sum of what is seen that is mapped to values.
        queries = self.query(spans) @ self.key.weight
        seen = [share_out(part, others) @ others for part in queries.split(BLOCK)]
        return self.norm(spans + self.value(torch.cat(seen)))


class SpanAttentionNetwork(nn.Module):
    """Represents spans, and measures how far they are from the types of others.

    token_width (int): Size of a token vector.
    span_size (int): Size of a span and of the hidden layer.
    """

    def __init__(self, *, token_width: int, span_size: int):
        super().__init__()
        self.dropout = 0.0
        # Two parts of one layer, over the first and the last token of a span.
        self.first = nn.Linear(token_width, span_size)
        self.last = nn.Linear(token_width, span_size, bias=False)
        self.output = nn.Linear(span_size, span_size)
        self.inter = SpanAttention(span_size)
        self.cross = SpanAttention(span_size)

    def forward(
        self,
        tokens: Tensor,
        spans: Tensor,
        contexts: Tensor,
        candidates: Tensor,
        candidate_contexts: Tensor,
        columns: Tensor,
        is_first: Tensor,
        n_columns: int,
    ) -> tuple[Tensor, Tensor]:
        """Let either half of some spans be the support set of the other one. See
        `Episode` for the arguments.

        RETURNS (Tuple[Tensor, Tensor]): (M, 1 + types) Squared distances to None and to
            the types of the other half, and (M, d) the spans before they see it.
        """
        points = self.represent(tokens, spans, contexts, candidates, candidate_contexts)
        places, distances = [], []
        for is_support in (is_first, ~is_first):
            support = points[is_support]
            seen = self.cross(support, support)
            asked = self.cross(points[~is_support], support)
            places.append(torch.nonzero(~is_support)[:, 0])
            distances.append(
                measure_columns(asked, seen, columns[is_support], n_columns)
            )
        return torch.cat(distances)[torch.cat(places).argsort()], points

    def represent(
        self,
        tokens: Tensor,
        spans: Tensor,
        contexts: Tensor,
        candidates: Tensor,
        candidate_contexts: Tensor,
    ) -> Tensor:
        """(M, d) Describe spans, which attend to the candidates of their context."""
        others = self.embed(tokens, candidates)
        own = others if spans is candidates else self.embed(tokens, spans)
        n_contexts = 1 + max(
            (int(part.max()) for part in (contexts, candidate_contexts) if len(part)),
            default=-1,
        )
        order = contexts.argsort(stable=True)
        parts = zip(
            split_by_context(own, contexts, n_contexts),
            split_by_context(others, candidate_contexts, n_contexts),
            strict=True,
        )
        # An empty part, so that there is one to join.
        seen = [own[:0], *(self.inter(*part) for part in parts if len(part[0]))]
        return torch.cat(seen)[order.argsort()]

    def embed(self, tokens: Tensor, spans: Tensor) -> Tensor:
        """(M, d) Describe spans by their first and last tokens."""
        starts, widths = spans.unbind(dim=1)
        # Unlike indexing, an embedding adds gradients up in the same order every time.
        hidden = F.embedding(starts, self.first(tokens)) + F.embedding(
            starts + widths - 1, self.last(tokens)
        )
        return self.output(F.dropout(F.relu(hidden), self.dropout, self.training))


def split_by_context(spans: Tensor, contexts: Tensor, n_contexts: int) -> list[Tensor]:
    """Return the spans of each context, which stay in order."""
    counts = torch.bincount(contexts, minlength=n_contexts).tolist()
    return list(spans[contexts.argsort(stable=True)].split(counts))


def share_out(queries: Tensor, keys: Tensor) -> Tensor:
    """(..., M, N) Return how much of its attention each query gives to each key."""
    return (queries @ keys.mT * queries.shape[-1] ** -0.5).softmax(dim=-1)


def measure_columns(
    points: Tensor, support: Tensor, columns: Tensor, n_columns: int
) -> Tensor:
    """(M, 1 + types) Measure squared distances of spans to None and to types. To each
    span, a type is the sum of its examples, weighted by how much attention the span
    gives to them, and None is the sum of its kinds in the same way. What has no
    examples is infinitely far.
    """
    members = [support[columns == column] for column in range(n_columns)]
    return torch.cat([measure_block(block, members) for block in points.split(BLOCK)])


def measure_block(points: Tensor, members: list[Tensor]) -> Tensor:
    """(M, 1 + types) Measure distances of a block of spans to the examples of each kind
    and type.
    """
    views = [share_out(points, m) @ m if len(m) else None for m in members]
    kinds = [view for view in views[:N_KINDS] if view is not None]
    none = None
    if kinds:
        stacked = torch.stack(kinds, dim=1)
        none = (share_out(points[:, None], stacked) @ stacked)[:, 0]
    distances = [measure(points, view) for view in (none, *views[N_KINDS:])]
    return torch.stack(distances, dim=1)


def measure(points: Tensor, view: Tensor | None) -> Tensor:
    """(M,) Measure squared distances of spans to their views, infinite without one."""
    if view is None:
        return points.new_full((len(points),), torch.inf)
    return (points - view).square().sum(dim=1)
