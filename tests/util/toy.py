"""A recognizer outside the package: it knows words by heart."""

from typing import ClassVar

from pydantic import Field
from spacy.language import Language
from spacy.pipeline.ner import make_ner_scorer
from thinc.api import Model

from spacy_epnet.recognizer.annotation import Prediction
from spacy_epnet.recognizer.base import FewShotRecognizer
from spacy_epnet.recognizer.settings import (
    AdaptSettings,
    Profile,
    RecognizerSettings,
)
from spacy_epnet.recognizer.task import LearningReport


class ToySettings(RecognizerSettings):
    class Adapt(AdaptSettings):
        profiles: ClassVar = {"default": Profile(extend={"ignore_case": True})}

        ignore_case: bool = Field(False, description="Whether case is ignored.")


class ToyRecognizer(FewShotRecognizer):
    settings_type = ToySettings
    is_ready = True
    limits = "longer than one word"

    def can_predict(self, ent):
        return len(ent) == 1

    def learn(self, task, settings):
        words = dict(self.learned["words"]) if task.extends else {}
        for gold in task.golds:
            for ent in gold.ents:
                words[ent.text.lower() if settings.ignore_case else ent.text] = (
                    ent.label_
                )
        self.set_labels([*(self.labels if task.extends else ()), *task.labels])
        self.learned["words"] = words
        return LearningReport(f"{len(words)} words", ("words",), {})

    def recognize(self, docs, tokens):
        words = self.learned["words"]
        return [
            [
                Prediction(t.i, t.i + 1, words.get(t.text) or words[t.lower_], 1.0)
                for t in doc
                if t.text in words or t.lower_ in words
            ]
            for doc in docs
        ]

    def embed(self, docs, tokens, spans):
        return tokens[spans[:, 0]]

    def rate(self, docs, tokens, spans):
        return [{None: 0.0, **dict.fromkeys(self.labels, 0.5)} for _ in spans]

    def initialize_model(self, docs):
        self.model.initialize(X=docs)

    def update_model(self, docs, golds):
        return {self.name: 0.0}


@Language.factory(
    "toy_ner",
    default_config={
        "threshold": 0.0,
        "overwrite_ents": False,
        "spans_key": None,
        "model": {"@architectures": "spacy.HashEmbedCNN.v2"},
    },
)
def make_toy(nlp, name, model, threshold, overwrite_ents, spans_key):
    whole = Model(
        "toy",
        lambda m, docs, is_train: m.layers[0](docs, is_train),
        init=lambda m, X=None, Y=None: m.layers[0].initialize(X=X),
        layers=[model],
        refs={"tok2vec": model},
    )
    pipe = ToyRecognizer(
        nlp.vocab,
        whole,
        name,
        scorer=make_ner_scorer(),
        threshold=threshold,
        overwrite_ents=overwrite_ents,
        spans_key=spans_key,
    )
    pipe.learned["words"] = {}
    pipe.cfg.follow(nlp, name)
    return pipe
