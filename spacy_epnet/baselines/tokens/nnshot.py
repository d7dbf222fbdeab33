"""NNShot: tokens take the type of the nearest token (Yang and Katiyar, 2020)."""

from collections.abc import Callable
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import Model, get_array_module

from ...recognizer.distances import get_cross_entropy
from ...recognizer.factory import (
    SCORE_WEIGHTS,
    WRITES,
    add_shared_config,
    make_recognizer,
)
from ...recognizer.gold import UNKNOWN
from ...types import TokenVectors
from .nearest import NearestTokenRecognizer
from .token_model import set_classes

OWN_CONFIG = """
[component]
memory_size = 100

[component.model]
@architectures = "spacy-epnet.TokenClassifier.v1"
learn_rate_scale = 1.0
"""


@Language.factory(
    "nnshot_ner",
    assigns=WRITES,
    default_config=add_shared_config(OWN_CONFIG),
    default_score_weights=SCORE_WEIGHTS,
)
def make_nnshot_ner(
    nlp: Language,
    name: str,
    model: Model[list[Doc], TokenVectors],
    memory_size: int,
    threshold: float,
    overwrite_ents: bool,
    spans_key: str | None,
    scorer: Callable | None,
):
    """Construct a nearest-neighbor recognizer: a token takes the type of the nearest
    token that is remembered, by the squared Euclidean distance of normalized vectors.
    The vectors are trained by a classifier, which isn't used afterwards.

    model (Model[List[Doc], TokenVectors]): The model, see
        `spacy-epnet.TokenClassifier.v1`.
    memory_size (int): Tokens of each type that are remembered from a training.
    threshold (float): Least probability of a predicted entity's type.
    overwrite_ents (bool): Whether predictions replace entities that are in
        `doc.ents` already and overlap them. Otherwise those stay.
    spans_key (Optional[str]): Key of `doc.spans` for all predictions and their
        probabilities. The component's name by default.
    scorer (Optional[Callable]): The scoring method.
    """
    return make_recognizer(
        NNShotRecognizer,
        nlp,
        name,
        model,
        scorer=scorer,
        memory_size=memory_size,
        threshold=threshold,
        overwrite_ents=overwrite_ents,
        spans_key=spans_key,
    )


class NNShotRecognizer(NearestTokenRecognizer):
    """Pipeline component for few-shot named entity recognition with NNShot."""

    def on_labels(self) -> None:
        """Give the classifier a class for each label. See the base."""
        if self.is_ready:
            width = self.memory.vectors.shape[1]
            before, after = self.learned["memory_labels"], list(self.labels)
            set_classes(self.model.get_ref("classifier"), width, before, after)
        super().on_labels()

    def initialize_model(self, docs: list[Doc]) -> None:
        """Make an empty memory and the classifier. See the base."""
        super().initialize_model(docs)
        self.on_labels()

    def train(
        self, tokens: TokenVectors, columns: Any, docs: list[Doc]
    ) -> tuple[float, TokenVectors]:
        """Classify tokens. See the base."""
        classifier = self.model.get_ref("classifier")
        scores, backprop = classifier(tokens, is_train=True)
        loss, d_scores = get_token_loss(scores, columns)
        return loss, backprop(d_scores)


def get_token_loss(scores: Any, columns: Any) -> tuple[float, Any]:
    """Cross-entropy of tokens.

    scores (Floats2d): A score of each token for each column.
    columns (Ints1d): The column of each token. Those that are unknown don't count.
    RETURNS (Tuple[float, Floats2d]): The mean loss, and its gradient with respect to
        the scores. Both are zero if nothing is known.
    """
    xp: Any = get_array_module(scores)
    known = columns != UNKNOWN
    gradient = xp.zeros_like(scores)
    if not known.any():
        return 0.0, gradient
    loss, gradient[known] = get_cross_entropy(scores[known], columns[known])
    return loss, gradient
