"""EP-Net in PyTorch: from token vectors and spans to distances."""

from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

# Dropout inside the map from names to prototypes, which sees few different names.
NAME_DROPOUT = 0.1


class SpanPrototypeNetwork(nn.Module):
    """Embeds spans, projects them next to the prototypes, measures distances.

    token_width (int): Size of a token vector (the paper's d2).
    max_width (int): Longest span with a width embedding of its own (epsilon).
    width_size (int): Size of a width embedding (d3).
    prototype_size (int): Size of a prototype and of the hidden layers (d1).
    depth (int): Layers of the projection.
    n_prototypes (int): Rows of the prototype table, None's included.
    initial_scale (float): Standard deviation of the initial prototypes.
    radius (Optional[float]): Compare directions only, on a sphere of this radius, so
        that the distance is 2 (1 - cos) times its square.
    edges (bool): Describe spans by their first and last tokens as well.
    names (bool): Map the vectors of names to prototypes as well.
    """

    def __init__(
        self,
        *,
        token_width: int,
        max_width: int,
        width_size: int,
        prototype_size: int,
        depth: int,
        n_prototypes: int,
        initial_scale: float,
        radius: float | None,
        edges: bool,
        names: bool,
    ):
        super().__init__()
        self.initial_scale = initial_scale
        self.radius = radius
        self.dropout = 0.0
        self.width_embeddings = nn.Embedding(max_width, width_size)
        sizes = [token_width + width_size] + [prototype_size] * depth
        self.projection = nn.ModuleList(
            nn.Linear(n_in, n_out) for n_in, n_out in pairwise(sizes)
        )
        # A part of the first layer. It maps tokens rather than spans, which are many.
        self.edges = nn.ModuleList(
            nn.Linear(token_width, prototype_size, bias=False) for _ in range(2 * edges)
        )
        self.prototypes = nn.Parameter(torch.empty(0, prototype_size))
        self.grow(n_prototypes)
        self.name_map: nn.Module | None = None
        if names:
            self.name_map = nn.Sequential(
                nn.LayerNorm(token_width, elementwise_affine=False),
                nn.Linear(token_width, prototype_size),
                nn.ReLU(),
                nn.Dropout(NAME_DROPOUT),
                nn.Linear(prototype_size, prototype_size),
            )

    def grow(self, n_prototypes: int) -> None:
        """Add prototypes until there are `n_prototypes`. Those there stay."""
        old = self.prototypes.data
        new = old.new_empty(max(0, n_prototypes - len(old)), old.shape[1])
        nn.init.normal_(new, std=self.initial_scale)
        self.prototypes = nn.Parameter(torch.cat([old, new]))

    def forward(
        self,
        tokens: Tensor,
        starts: Tensor,
        widths: Tensor,
        rows: Tensor,
        names: Tensor | None = None,
    ) -> tuple[Tensor, ...]:
        """Tell which prototypes in use each span is nearer to, and by how much.

        tokens (Tensor): (T, d2) The batch's token vectors.
        starts (Tensor): (M,) First token of each span.
        widths (Tensor): (M,) Tokens of each span.
        rows (Tensor): (R,) The prototypes in use.
        names (Optional[Tensor]): (R - 1, d2) The vector of a name of each but None.
        RETURNS (Tuple[Tensor, ...]): (M, R) Squared distances less the squared norm of
            the projected span, on which no probability depends, and (P, d1) all
            prototypes, so that a loss can be put on both. If there are names, also
            (M, R) the distances to None and to where types lie by their names.
        """
        spans = self.begin_fold(self.embed(tokens, starts, widths))
        chosen = self.get_prototypes()[rows]
        distances = F.linear(spans, *self.fold(chosen))
        if names is None:
            return distances, self.prototypes
        named = torch.cat([chosen[:1], self.map_names(names)])
        return distances, self.prototypes, F.linear(spans, *self.fold(named))

    def map_names(self, names: Tensor) -> Tensor:
        """Map the vectors of names to where the prototypes of their types lie."""
        assert self.name_map is not None, "a setting of the model"
        return self.project_to_sphere(self.name_map(names))

    @property
    def folds(self) -> bool:
        """Whether the last layer folds into the prototypes, of which few are in use,
        rather than being applied to spans, which are many.
        """
        return len(self.projection) > 1 and self.radius is None

    def begin_fold(self, spans: Tensor) -> Tensor:
        """Take embedded spans to where `fold` begins."""
        if not self.folds:
            return self.project(spans)
        for layer in self.projection[1:-1]:
            spans = layer(self.activate(spans))
        return self.activate(spans)

    def fold(self, prototypes: Tensor) -> tuple[Tensor, Tensor]:
        """Return the weight and the bias of a layer from there to the distances to
        prototypes, less the squared norm of the projected span.
        """
        weight, bias = -2 * prototypes, (prototypes * prototypes).sum(dim=1)
        if not self.folds:
            return weight, bias
        last: Any = self.projection[-1]
        return weight @ last.weight, bias + weight @ last.bias

    def measure(self, projected: Tensor, rows: Tensor) -> tuple[Tensor, Tensor]:
        """Measure how far projected spans are from each prototype in use."""
        prototypes = self.get_prototypes()[rows]
        return square_distances(projected, prototypes), self.prototypes

    def get_prototypes(self) -> Tensor:
        """Return the prototypes, as they are compared with projected spans."""
        return self.project_to_sphere(self.prototypes)

    def project_to_sphere(self, points: Tensor) -> Tensor:
        """Project points to the sphere on which cosines are compared, if any."""
        if self.radius is None:
            return points
        return self.radius * F.normalize(points, dim=1)

    def embed(self, tokens: Tensor, starts: Tensor, widths: Tensor) -> Tensor:
        """Describe spans by the maximum of their tokens, by their width, and by their
        first and last tokens if wanted. It is the first layer, before its activation.
        """
        clamped = widths.clamp(max=self.width_embeddings.num_embeddings)
        pooled = pool_spans(tokens, starts, widths)
        spans = torch.cat([pooled, self.width_embeddings(clamped - 1)], dim=1)
        embedded = self.projection[0](spans)
        for layer, places in zip(
            self.edges, (starts, starts + widths - 1), strict=False
        ):
            embedded = embedded + map_tokens(layer, tokens, places)
        return embedded

    def project(self, spans: Tensor) -> Tensor:
        """Map embedded spans to the space of the prototypes."""
        for layer in self.projection[1:]:
            spans = layer(self.activate(spans))
        return self.project_to_sphere(spans)

    def activate(self, spans: Tensor) -> Tensor:
        """Apply ReLU and dropout."""
        return F.dropout(F.relu(spans), self.dropout, self.training)


def map_tokens(layer: nn.Module, tokens: Tensor, indices: Tensor) -> Tensor:
    """Map the tokens at some indices, none of them twice."""
    # Unlike indexing, an embedding adds gradients up in the same order every time.
    if len(indices) < len(tokens):
        return layer(F.embedding(indices, tokens))
    return F.embedding(indices, layer(tokens))


def pool_spans(tokens: Tensor, starts: Tensor, widths: Tensor) -> Tensor:
    """Take the maximum over each span's tokens.

    Maxima over 1, 2, 4, 8 ... tokens are made for the whole batch, each from the
    ones before. Any span is covered by two of them that overlap.

    tokens (Tensor): (T, d2) The batch's token vectors.
    starts (Tensor): (M,) First token of each span.
    widths (Tensor): (M,) Tokens of each span.
    RETURNS (Tensor): (M, d2) The pooled spans.
    """
    powers = torch.frexp(widths.float()).exponent.long() - 1
    maxima = [tokens]
    offsets = [0]
    for power in range(int(powers.max()) if len(powers) else 0):
        last = maxima[-1]
        offsets.append(offsets[-1] + len(last))
        reach = 1 << power
        maxima.append(torch.maximum(last[:-reach], last[reach:]))
    table = torch.cat(maxima)
    first = torch.tensor(offsets, device=starts.device)[powers] + starts
    return torch.maximum(table[first], table[first + widths - (1 << powers)])


def square_distances(points: Tensor, centers: Tensor) -> Tensor:
    """Return the squared Euclidean distance of each point to each center."""
    products = points @ centers.T
    norms = (points * points).sum(dim=1, keepdim=True)
    return (norms - 2 * products + (centers * centers).sum(dim=1)).clamp(min=0)
