"""The factory of ESD."""

from collections.abc import Callable

from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import Model

from ...recognizer.factory import (
    SCORE_WEIGHTS,
    WRITES,
    add_shared_config,
    make_recognizer,
)
from ...types import TokenVectors
from .esd import ESDRecognizer

OWN_CONFIG = """
[component]
none_samples = 40
hard_nones = 0.5
memory_size = 20
beam_size = 5
delta = 0.1

[component.model]
@architectures = "spacy-epnet.ESD.v1"
max_width = 10
span_size = 256
learn_rate_scale = 1.0
"""


@Language.factory(
    "esd_ner",
    assigns=WRITES,
    default_config=add_shared_config(OWN_CONFIG),
    default_score_weights=SCORE_WEIGHTS,
)
def make_esd_ner(
    nlp: Language,
    name: str,
    model: Model[list[Doc], TokenVectors],
    none_samples: int,
    hard_nones: float,
    memory_size: int,
    beam_size: int,
    delta: float,
    threshold: float,
    overwrite_ents: bool,
    spans_key: str | None,
    scorer: Callable | None,
):
    """Construct a recognizer by span attention: spans of up to `max_width` tokens see
    those of their sentence and of the support set, and take the type whose examples,
    as each span sees them, are nearest. None is of three kinds: beside entities, across
    their edges, and inside them.

    model (Model[List[Doc], TokenVectors]): The model, see `spacy-epnet.ESD.v1`.
    none_samples (int): None spans to sample from each sentence in an update.
    hard_nones (float): Share of them that overlaps an entity, where there are any.
    memory_size (int): Spans of each type that are remembered from a training, by which
        the source's own types are recognized. All entities of a support set are.
    beam_size (int): How many selections of spans are followed to resolve overlaps.
    delta (float): Least probability that has to be left of a span that overlaps one
        chosen before it, so that it adds to a selection.
    threshold (float): Least probability of a predicted entity's type.
    overwrite_ents (bool): Whether predictions replace entities that are in
        `doc.ents` already and overlap them. Otherwise those stay.
    spans_key (Optional[str]): Key of `doc.spans` for all predictions and their
        probabilities. The component's name by default.
    scorer (Optional[Callable]): The scoring method.
    """
    return make_recognizer(
        ESDRecognizer,
        nlp,
        name,
        model,
        scorer=scorer,
        none_samples=none_samples,
        hard_nones=hard_nones,
        memory_size=memory_size,
        beam_size=beam_size,
        delta=delta,
        threshold=threshold,
        overwrite_ents=overwrite_ents,
        spans_key=spans_key,
    )
