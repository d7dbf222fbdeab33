"""The factory of the `epnet_ner` component."""

from collections.abc import Callable
from typing import Literal

from spacy.language import Language
from thinc.api import Config, Model

from ..types import HeadOutput, ModelInput
from .epnet_recognizer import EPNetRecognizer

DEFAULT_CONFIG = """
[epnet_ner]
tau = 2.0
none_samples = 20
hard_nones = 0.0
dispersion_loss = true
overlaps = "distance"
decision = "nearest"
none_bias = 0.0
threshold = 0.0
overwrite_ents = false
spans_key = null
scorer = {"@scorers": "spacy.ner_scorer.v1"}

[epnet_ner.model]
@architectures = "spacy-epnet.EPNet.v1"
max_width = 10
width_size = 25
prototype_size = 512
depth = 3
n_prototypes = 101
initial_dispersion = 2.0
similarity = "euclidean"
learn_rate_scale = 1.0

[epnet_ner.model.tok2vec]
@architectures = "spacy-transformers.TransformerListener.v1"
grad_factor = 1.0
upstream = "*"
pooling = {"@layers": "reduce_mean.v1"}
"""


@Language.factory(
    "epnet_ner",
    assigns=["doc.ents", "doc.spans", "token.ent_iob", "token.ent_type"],
    default_config=Config().from_str(DEFAULT_CONFIG)["epnet_ner"],
    default_score_weights={
        "ents_f": 1.0,
        "ents_p": 0.0,
        "ents_r": 0.0,
        "ents_per_type": None,
    },
)
def make_epnet_ner(
    nlp: Language,
    name: str,
    model: Model[ModelInput, HeadOutput],
    tau: float,
    none_samples: int,
    hard_nones: float,
    dispersion_loss: bool,
    overlaps: Literal["distance", "probability", "certainty"],
    decision: Literal["nearest", "any"],
    none_bias: float,
    threshold: float,
    overwrite_ents: bool,
    spans_key: str | None,
    scorer: Callable | None,
):
    """Construct an EP-Net recogniser: every span of up to `max_width` tokens takes
    the type of the nearest prototype.

    model (Model[ModelInput, HeadOutput]): The model, see `spacy-epnet.EPNet.v1`.
    tau (float): Mean squared distance at which the prototypes are to be held.
    none_samples (int): None spans to sample from each sentence in an update.
    hard_nones (float): Share of them that overlaps an entity, where there are any.
    dispersion_loss (bool): Whether to train the prototypes to be dispersed.
    overlaps (str): What decides between overlapping predictions: the smaller
        "distance", the larger "probability" of the type, or the larger "certainty"
        that it is an entity at all.
    decision (str): When a span is an entity: if the "nearest" prototype is a type's,
        or if "any" type is more probable than None, all types taken together.
    none_bias (float): What is added to the distance to None. Above 0 there are more
        entities, below 0 fewer.
    threshold (float): Least probability of a predicted entity's type.
    overwrite_ents (bool): Whether predictions replace entities that are in
        `doc.ents` already and overlap them. Otherwise those stay.
    spans_key (Optional[str]): Key of `doc.spans` for all predictions and their
        probabilities. The component's name by default.
    scorer (Optional[Callable]): The scoring method.
    """
    return EPNetRecognizer(
        nlp.vocab,
        model,
        name,
        tau=tau,
        none_samples=none_samples,
        hard_nones=hard_nones,
        dispersion_loss=dispersion_loss,
        overlaps=overlaps,
        decision=decision,
        none_bias=none_bias,
        threshold=threshold,
        overwrite_ents=overwrite_ents,
        spans_key=spans_key,
        scorer=scorer,
    )
