"""Make the pipelines that are timed: EP-Net and spaCy's recognizers on one encoder."""

from collections import Counter
from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import Any, Literal, TypeAlias

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.util import fix_random_seed, load_config, load_model_from_config, minibatch
from spacy.vocab import Vocab

from spacy_epnet.corpora.documents import Reading, Sentence
from spacy_epnet.corpora.readers import read_columns
from spacy_epnet.corpora.sampling import sample_greedily

from ..rivals import RIVALS, SPANS_KEY

CONFIG = Path(__file__).parents[2] / "configs" / "source.cfg"

Recognizer: TypeAlias = Literal["epnet_ner", "ner", "spancat_singlelabel"]
Drive: TypeAlias = Literal["ours", "stock"]

STRIDED_SPANS = {
    "@span_getters": "spacy-transformers.strided_spans.v1",
    "window": 128,
    "stride": 96,
}
STOCK_BATCH_SIZE = 128
SHOTS = 5


def read_sentences(path: Path) -> list[Sentence]:
    """Read all sentences of a column file."""
    reading = Reading(repair_tags=True)
    documents = read_columns(path, reading)
    return [sentence for document in documents for sentence in document.sentences]


def draw_support(sentences: list[Sentence], seed: int) -> list[Sentence]:
    """Draw a support set with `SHOTS` mentions of each type."""
    mentions = [Counter(label for *_, label in s.entities) for s in sentences]
    return [sentences[i] for i in sample_greedily(mentions, SHOTS, seed)]


def make_references(vocab: Vocab, sentences: Iterable[Sentence]) -> list[Doc]:
    """Make annotated docs."""
    return [eg.reference for eg in make_examples(vocab, sentences)]


def make_examples(vocab: Vocab, sentences: Iterable[Sentence]) -> list[Example]:
    """Make examples that any of the recognizers can learn from."""
    examples = []
    for sentence in sentences:
        reference = Doc(vocab, words=sentence.words)
        ents = [Span(reference, *entity) for entity in sentence.entities]
        reference.set_ents(ents)
        reference.spans[SPANS_KEY] = ents
        examples.append(Example(Doc(vocab, words=sentence.words), reference))
    return examples


def make_pipeline(
    encoder: str,
    recognizer: Recognizer | None,
    *,
    drive: Drive = "ours",
    **transformer: Any,
) -> Language:
    """Make an untrained pipeline.

    encoder (str): The encoder's folder.
    recognizer (Optional[str]): The component over the transformer.
    drive (str): How the transformer is run: as our config has it ("ours"), or as
        spaCy's quickstart has it ("stock").
    **transformer: Settings of the transformer's model that differ.
    RETURNS (Language): The pipeline.
    """
    fix_random_seed(0)
    config = load_config(CONFIG, overrides={"paths.encoder": encoder}, interpolate=True)
    config["components"]["transformer"]["model"].update(transformer)
    nlp = load_model_from_config(config, auto_fill=True)
    if drive == "stock":
        nlp.remove_pipe("transformer")
        model = {
            "@architectures": "spacy-transformers.TransformerModel.v3",
            "name": encoder,
            "get_spans": STRIDED_SPANS,
            "tokenizer_config": {"use_fast": True},
        }
        nlp.add_pipe("transformer", first=True, config={"model": model})
        nlp.batch_size = STOCK_BATCH_SIZE
    if recognizer != "epnet_ner":
        nlp.remove_pipe("epnet_ner")
        if recognizer is not None:
            nlp.add_pipe(recognizer, config=RIVALS[recognizer])
    return nlp


def train_briefly(
    nlp: Language, sentences: list[Sentence], *, updates: int = 60, size: int = 20
) -> Language:
    """Initialize a pipeline and train its recognizer over the frozen transformer, so
    that it finds something. How much that is differs, see "entities" in the results.
    """
    examples = make_examples(nlp.vocab, sentences)
    optimizer = nlp.initialize(lambda: examples)
    if nlp.pipe_names == ["transformer"]:
        return nlp
    optimizer.learn_rate = 0.001
    list(nlp.get_pipe("transformer").pipe([eg.predicted for eg in examples]))  # type: ignore[attr-defined]
    recognizer: Any = nlp.pipeline[-1][1]
    endless = (batch for _ in range(updates) for batch in minibatch(examples, size))
    for batch in islice(endless, updates):
        recognizer.update(batch, drop=0.1, sgd=optimizer)
    return nlp


def count_entities(nlp: Language, docs: Iterable[Doc]) -> int:
    """Run a pipeline and count what it finds."""
    count = 0
    for doc in nlp.pipe(docs):
        count += len(doc.ents) + len(doc.spans.get(SPANS_KEY, []))
    return count


def make_long_text(sentences: list[Sentence], n_tokens: int) -> list[str]:
    """Return the words of a document of a given length."""
    words: list[str] = []
    while len(words) < n_tokens:
        for sentence in sentences:
            words += sentence.words
    return words[:n_tokens]
