"""What a user would pick instead: spaCy's own recognizers, fine-tuned on support sets.

They begin with the encoder of a source pipeline, see how words are written like EP-Net
does, and are trained as spaCy's quickstart has it. That is made for 20,000 steps: here
steps are smaller, and the learning rate is higher, and rises and falls within them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any, Literal, TypeAlias

import spacy
from spacy.language import Language
from spacy.scorer import get_ner_prf
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import fix_random_seed, registry

from spacy_epnet.adapting.support import make_bare_example
from spacy_epnet.corpora.corpus import Corpus
from spacy_epnet.encoder.networks import copy_model
from spacy_epnet.evaluation.benchmark import Adapted, Benchmark
from spacy_epnet.evaluation.query import Queries
from spacy_epnet.recognizer.pipeline import forget_tensors

from ..rivals import RIVALS, SPANS_KEY

Rival: TypeAlias = Literal["ner", "spancat_singlelabel"]

# As `spacy init config --gpu` has them, but that this Adam takes less time.
OPTIMIZER = {
    "@optimizers": "spacy-epnet.Adam.v1",
    "beta1": 0.9,
    "beta2": 0.999,
    "L2_is_weight_decay": True,
    "L2": 0.01,
    "grad_clip": 1.0,
    "use_averages": False,
    "eps": 1e-8,
}
BATCHER = {
    "@batchers": "spacy.batch_by_padded.v1",
    "discard_oversize": False,
    "buffer": 256,
}
DROPOUT = 0.1
WARMUP = 0.05  # share of the steps
# Of overlapping spans the more probable is the entity. Nearly all candidates are none:
# if each weighs as much as an entity, nothing is ever found.
CHANGES: dict[str, dict[str, Any]] = {
    "ner": {},
    "spancat_singlelabel": {"allow_overlap": False, "negative_weight": 0.02},
}


def make_config(rival: str, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a recognizer."""
    config = {**RIVALS[rival], **CHANGES[rival], **changes}
    tok2vec = {
        "@architectures": "spacy-epnet.SurfaceTok2Vec.v1",
        "tok2vec": config["model"]["tok2vec"],
    }
    return {**config, "model": {**config["model"], "tok2vec": tok2vec}}


def make_optimizer(steps: int, learn_rate: float) -> dict[str, Any]:
    """Return the optimizer of a training, as in a config."""
    schedule = {
        "@schedules": "warmup_linear.v1",
        "warmup_steps": round(WARMUP * steps),
        "total_steps": steps,
        "initial_rate": learn_rate,
    }
    return {**OPTIMIZER, "learn_rate": schedule}


@dataclass
class FineTuning(Benchmark):
    """A benchmark of a recognizer of spaCy's.

    nlp (Language): The pipeline whose encoder is fine-tuned.
    rival (str): The recognizer.
    steps (int): How often it is updated.
    batch_size (int): Words of a step, with padding.
    learn_rate (float): The highest learning rate.
    changes (Mapping[str, Any]): Settings of the recognizer that differ.
    """

    rival: Rival = "ner"
    steps: int = 300
    batch_size: int = 500
    learn_rate: float = 2e-4
    changes: Mapping[str, Any] = field(default_factory=dict)

    def describe(self) -> dict[str, Any]:
        """RETURNS (Dict[str, Any]): All that the results depend on."""
        described = super().describe()
        settings = {
            **make_config(self.rival, self.changes),
            "steps": self.steps,
            "optimizer": make_optimizer(self.steps, self.learn_rate),
            "batcher": self._make_batcher(),
            "dropout": DROPOUT,
        }
        profiles = dict.fromkeys(self.profiles, settings)
        return {**described, "recognizer": self.rival, "profiles": profiles}

    def _make_batcher(self) -> dict[str, Any]:
        return {**BATCHER, "size": self.batch_size}

    def adapt(self, support: list[Doc], labels: Iterable[str], profile: str) -> Adapted:
        """Fine-tune the recognizer with its encoder. See the base."""
        begin = perf_counter()
        fix_random_seed(0)
        nlp = make_rival(self.nlp, self.rival, self.changes)
        examples = [mark_spans(make_bare_example(nlp, doc)) for doc in support]
        optimizer_config = make_optimizer(self.steps, self.learn_rate)
        training = registry.resolve(
            {"optimizer": optimizer_config, "batcher": self._make_batcher()}
        )
        optimizer = nlp.initialize(lambda: examples, sgd=training["optimizer"])
        n_steps, loss = 0, 0.0
        while n_steps < self.steps:
            for batch in training["batcher"](examples):
                losses = nlp.update(batch, sgd=optimizer, drop=DROPOUT)
                optimizer.step_schedules()
                loss = losses[self.rival]
                n_steps += 1
                if n_steps == self.steps:
                    break
        summary = f"{n_steps} steps, the last loss {loss:.4f}"
        return Adapted(nlp, perf_counter() - begin, summary, {})

    def score(
        self,
        adapted: Adapted,
        test: Corpus,
        queries: Queries,
        without: list[int],
    ) -> tuple[dict[str, Any], dict[str, float]]:
        """Recognize the test set and score. See the base."""
        nlp = adapted.nlp
        examples = [make_bare_example(nlp, doc) for doc in test.docs]
        begin = perf_counter()
        docs = nlp.pipe([eg.predicted for eg in examples])
        for eg, doc in zip(examples, docs, strict=True):
            if SPANS_KEY in doc.spans:
                doc.set_ents(list(doc.spans[SPANS_KEY]))
            eg.predicted = doc
            forget_tensors(doc)
        seconds = {"encode_query": 0.0, "recognize": perf_counter() - begin}
        return score_examples(examples, without), seconds


def score_examples(examples: list[Example], without: list[int]) -> dict[str, Any]:
    """Score entities like `spacy evaluate`, but those of some examples."""
    left_out = set(without)
    return get_ner_prf(eg for i, eg in enumerate(examples) if i not in left_out)


def make_rival(source: Language, rival: Rival, changes: Mapping[str, Any]) -> Language:
    """Make a pipeline with a copy of the source's transformer and a recognizer of
    spaCy's.
    """
    nlp = spacy.blank(source.lang)
    nlp.batch_size = source.batch_size
    # Its settings may refer to others of the source.
    config = dict(source.config.interpolate()["components"]["transformer"])
    nlp.add_pipe(config.pop("factory"), "transformer", config=config)
    transformer: Any = nlp.get_pipe("transformer")
    trained: Any = source.get_pipe("transformer")
    transformer.model = copy_model(trained.model)
    nlp.add_pipe(rival, config=make_config(rival, changes))
    return nlp


def mark_spans(eg: Example) -> Example:
    """Mark the entities of an example where spancat looks for them, too."""
    eg.reference.spans[SPANS_KEY] = list(eg.reference.ents)
    return eg
