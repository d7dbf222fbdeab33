"""The factory of the `epnet_ner` component."""

from collections.abc import Callable

from spacy.language import Language
from thinc.api import Model

from ..recognizer.factory import (
    SCORE_WEIGHTS,
    WRITES,
    add_shared_config,
    make_recognizer,
)
from .component import EPNetRecognizer
from .types import HeadOutput, ModelInput

OWN_CONFIG = """
[component]
tau = 2.0
none_samples = 20
hard_nones = 0.0
dispersion_loss = true
overlaps = {"@misc": "spacy-epnet.prefer_near.v1"}

[component.model]
@architectures = "spacy-epnet.EPNet.v1"
max_width = 10
width_size = 25
prototype_size = 512
depth = 3
n_prototypes = 101
initial_dispersion = 2.0
similarity = "euclidean"
learn_rate_scale = 1.0
edges = true
"""


@Language.factory(
    "epnet_ner",
    assigns=WRITES,
    default_config=add_shared_config(OWN_CONFIG),
    default_score_weights=SCORE_WEIGHTS,
)
def make_epnet_ner(
    nlp: Language,
    name: str,
    model: Model[ModelInput, HeadOutput],
    tau: float,
    none_samples: int,
    hard_nones: float,
    dispersion_loss: bool,
    overlaps: Callable,
    threshold: float,
    overwrite_ents: bool,
    spans_key: str | None,
    scorer: Callable | None,
):
    """Construct an EP-Net recognizer: every span of up to `max_width` tokens takes
    the type of the nearest prototype.

    model (Model[ModelInput, HeadOutput]): The model, see `spacy-epnet.EPNet.v1`.
    tau (float): Mean squared distance at which the prototypes are to be held.
    none_samples (int): None spans to sample from each sentence in an update.
    hard_nones (float): Share of them that overlaps an entity, where there are any.
    dispersion_loss (bool): Whether to train the prototypes to be dispersed.
    overlaps (Callable[[Winner], float]): Which of two overlapping predictions is the
        better one, see `decoding.py`.
    threshold (float): Least probability of a predicted entity's type.
    overwrite_ents (bool): Whether predictions replace entities that are in
        `doc.ents` already and overlap them. Otherwise those stay.
    spans_key (Optional[str]): Key of `doc.spans` for all predictions and their
        probabilities. The component's name by default.
    scorer (Optional[Callable]): The scoring method.
    """
    return make_recognizer(
        EPNetRecognizer,
        nlp,
        name,
        model,
        scorer=scorer,
        tau=tau,
        none_samples=none_samples,
        hard_nones=hard_nones,
        dispersion_loss=dispersion_loss,
        overlaps=overlaps,
        threshold=threshold,
        overwrite_ents=overwrite_ents,
        spans_key=spans_key,
    )
