"""What a user would pick instead: SpanMarker, fine-tuned on support sets.

It begins with the encoder of a source pipeline. The package is an extra:
pip install spacy-epnet[compare]
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy
import spacy
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.util import fix_random_seed

from spacy_epnet.adapting.support import make_bare_example
from spacy_epnet.corpora.corpus import Corpus
from spacy_epnet.evaluation.benchmark import Adapted, Benchmark
from spacy_epnet.evaluation.query import Queries

from .finetuning import score_examples

# As in its documentation, but for the longest entity, which is EP-Net's.
MODEL = {"model_max_length": 256, "marker_max_length": 128, "entity_max_length": 10}
TRAINING = {"learning_rate": 5e-5, "warmup_ratio": 0.1, "weight_decay": 0.01}
BATCH_SIZE = 32


@dataclass
class SpanMarkerTuning(Benchmark):
    """A benchmark of SpanMarker.

    nlp (Language): The pipeline whose encoder is fine-tuned.
    steps (int): How often it is updated.
    """

    steps: int = 100

    def __post_init__(self) -> None:
        super().__post_init__()
        self.model: Any = None

    def describe(self) -> dict[str, Any]:
        """RETURNS (Dict[str, Any]): All that the results depend on."""
        described = super().describe()
        settings = {**MODEL, **TRAINING, "steps": self.steps, "batch": BATCH_SIZE}
        profiles = dict.fromkeys(self.profiles, settings)
        return {**described, "recognizer": "span_marker", "profiles": profiles}

    def adapt(self, support: list[Doc], labels: Iterable[str], profile: str) -> Adapted:
        """Fine-tune it with its encoder. See the base."""
        from datasets import Dataset
        from span_marker import SpanMarkerModel, Trainer
        from transformers import TrainingArguments

        begin = perf_counter()
        fix_random_seed(0)
        labels = sorted({ent.label_ for doc in support for ent in doc.ents})
        names = ["O", *(f"{p}-{label}" for label in labels for p in "BI")]
        data = Dataset.from_dict(
            {
                "tokens": [[token.text for token in doc] for doc in support],
                "ner_tags": [list(map(names.index, get_tags(doc))) for doc in support],
            }
        )
        with TemporaryDirectory() as folder:
            save_encoder(self.nlp, Path(folder) / "encoder")
            self.model = SpanMarkerModel.from_pretrained(
                f"{folder}/encoder", labels=names, **MODEL
            )
            args = TrainingArguments(
                output_dir=f"{folder}/trained",
                max_steps=self.steps,
                per_device_train_batch_size=BATCH_SIZE,
                save_strategy="no",
                report_to=[],
                use_cpu=True,
                disable_tqdm=True,
                **TRAINING,
            )
            trainer = Trainer(model=self.model, args=args, train_dataset=data)
            loss = trainer.train().training_loss
        seconds = perf_counter() - begin
        summary = f"{self.steps} steps, mean loss {loss:.4f}"
        return Adapted(spacy.blank(self.nlp.lang), seconds, summary, {})

    def score(
        self,
        adapted: Adapted,
        test: Corpus,
        queries: Queries,
        without: list[int],
    ) -> tuple[dict[str, Any], dict[str, float]]:
        """Recognize the test set and score. See the base."""
        examples = [make_bare_example(adapted.nlp, doc) for doc in test.docs]
        begin = perf_counter()
        # Sentences of similar length are encoded together.
        order = numpy.argsort([-len(eg.predicted) for eg in examples]).tolist()
        for start in range(0, len(order), BATCH_SIZE):
            docs = [examples[i].predicted for i in order[start : start + BATCH_SIZE]]
            words = [[token.text for token in doc] for doc in docs]
            found = self.model.predict(words, batch_size=BATCH_SIZE)
            for doc, entities in zip(docs, found, strict=True):
                doc.set_ents([make_span(doc, entity) for entity in entities])
        seconds = {"encode_query": 0.0, "recognize": perf_counter() - begin}
        return score_examples(examples, without), seconds


def get_tags(doc: Doc) -> list[str]:
    """BIO tags of a doc."""
    return [f"{t.ent_iob_}-{t.ent_type_}" if t.ent_type_ else "O" for t in doc]


def make_span(doc: Doc, entity: dict[str, Any]) -> Span:
    """Convert a prediction to a span."""
    places = entity["word_start_index"], entity["word_end_index"]
    return Span(doc, *places, label=entity["label"])


def save_encoder(nlp: Language, folder: Path) -> None:
    """Write the encoder of a pipeline as Transformers has it."""
    component: Any = nlp.get_pipe("transformer")
    component.model.transformer.save_pretrained(folder)
    component.model.tokenizer.save_pretrained(folder)
