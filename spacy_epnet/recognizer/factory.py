"""What the factories of all recognizers have in common."""

from typing import Any

from spacy.language import Language
from thinc.api import Config, Model

# The annotation that they set.
WRITES = ["doc.ents", "doc.spans", "token.ent_iob", "token.ent_type"]

# What their training is judged by.
SCORE_WEIGHTS = {"ents_f": 1.0, "ents_p": 0.0, "ents_r": 0.0, "ents_per_type": None}

SHARED_CONFIG = """
[component]
threshold = 0.0
overwrite_ents = false
spans_key = null
scorer = {"@scorers": "spacy.ner_scorer.v1"}

[component.model]

[component.model.tok2vec]
@architectures = "spacy-transformers.TransformerListener.v1"
grad_factor = 1.0
upstream = "*"
pooling = {"@layers": "reduce_mean.v1"}
"""


def add_shared_config(own: str) -> dict[str, Any]:
    """Make the default config of a factory.

    own (str): What is a recognizer's own, under [component] and [component.model].
    RETURNS (Dict[str, Any]): The same with what all have.
    """
    shared = Config().from_str(SHARED_CONFIG)
    return Config().from_str(own).merge(shared)["component"]


def make_recognizer(
    kind: Any, nlp: Language, name: str, model: Model, **settings: Any
) -> Any:
    """Make a recognizer whose settings are those in the config of its pipeline.

    kind (Type[FewShotRecognizer]): What it is.
    nlp (Language): The pipeline.
    name (str): The component instance name.
    model (Model): The model powering the component.
    **settings: The settings, and the scorer.
    RETURNS (FewShotRecognizer): The recognizer.
    """
    pipe = kind(nlp.vocab, model, name, **settings)
    pipe.cfg.follow(nlp, name)
    return pipe
