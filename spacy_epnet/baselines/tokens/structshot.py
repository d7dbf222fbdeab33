"""StructShot: NNShot that minds which type follows which (Yang and Katiyar, 2020)."""

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
from .nnshot import NNShotRecognizer
from .sequences import SequenceRecognizer
from .transitions import Transfer

OWN_CONFIG = """
[component]
memory_size = 100
transfer = "even"
temperature = 0.01

[component.model]
@architectures = "spacy-epnet.TokenClassifier.v1"
learn_rate_scale = 1.0
"""


@Language.factory(
    "structshot_ner",
    assigns=WRITES,
    default_config=add_shared_config(OWN_CONFIG),
    default_score_weights=SCORE_WEIGHTS,
)
def make_structshot_ner(
    nlp: Language,
    name: str,
    model: Model[list[Doc], TokenVectors],
    memory_size: int,
    transfer: Transfer,
    temperature: float,
    threshold: float,
    overwrite_ents: bool,
    spans_key: str | None,
    scorer: Callable | None,
):
    """Construct a nearest-neighbor recognizer that chooses the types of all tokens of
    a sentence together. Which type follows which is learned of the source's types, and
    handed to those that it is adapted to.

    model (Model[List[Doc], TokenVectors]): The model, see
        `spacy-epnet.TokenClassifier.v1`.
    memory_size (int): Tokens of each type that are remembered from a training.
    transfer (str): How transitions between types are handed to others: each is a "copy"
        of its abstract one, or those that have the same one share it evenly ("even").
    temperature (float): Power of the transitions. The smaller, the less they count.
    threshold (float): Least probability of a predicted entity's type.
    overwrite_ents (bool): Whether predictions replace entities that are in
        `doc.ents` already and overlap them. Otherwise those stay.
    spans_key (Optional[str]): Key of `doc.spans` for all predictions and their
        probabilities. The component's name by default.
    scorer (Optional[Callable]): The scoring method.
    """
    return make_recognizer(
        StructShotRecognizer,
        nlp,
        name,
        model,
        scorer=scorer,
        memory_size=memory_size,
        transfer=transfer,
        temperature=temperature,
        threshold=threshold,
        overwrite_ents=overwrite_ents,
        spans_key=spans_key,
    )


class StructShotRecognizer(SequenceRecognizer, NNShotRecognizer):
    """Pipeline component for few-shot named entity recognition with StructShot."""
