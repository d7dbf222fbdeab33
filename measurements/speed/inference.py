"""Measure speed and F1 of the encoder in bfloat16 and float32."""

from functools import partial
from typing import Any, get_args

import spacy
from spacy.language import Language
from spacy.tokens import Doc

from spacy_epnet import adapt
from spacy_epnet.corpora.documents import Sentence
from spacy_epnet.encoder.shim import Inference

from .contestants import SHOTS, draw_support, make_examples, make_references
from .measuring import compare, show, take_turns
from .recognition import BLOCK
from .setup import Setup, Table

TARGETS = ("wnut17", "crossner_politics")
FULL = "float32"


def measure_inference(setup: Setup) -> list[Table]:
    """Adapt and recognize with each setting, on the targets."""
    return [measure_target(setup, target) for target in TARGETS]


def measure_target(setup: Setup, target: str) -> Table:
    """Compare the settings on one target, by speed and predictions. Adapting encodes
    with the same setting, so that it learns a little else as well."""
    dev = setup.read(f"{target}/dev.txt")
    support = draw_support(dev, seed=0)
    query = setup.read(f"{target}/test.txt", limit=BLOCK if setup.quick else None)
    nlps: dict[str, Language] = {}
    found: dict[str, list[Doc]] = {}
    for name in get_args(Inference):
        setting = {"components.transformer.model.inference": name}
        source = spacy.load(setup.source, config=setting)
        nlps[name] = adapt(source, make_references(source.vocab, support)).nlp
        found[name] = []
    blocks = [query[i : i + BLOCK] for i in range(0, len(query), BLOCK)]
    seconds = take_turns(
        {name: partial(recognize, nlp, found[name]) for name, nlp in nlps.items()},
        blocks,
        on_block=setup.report_progress(f"inference, {target}", len(blocks)),
    )
    rows, results = [], {}
    for name, nlp in nlps.items():
        # The blocks were recognized in order, whoever began.
        result: dict[str, Any] = {
            "f": 100 * score(nlp, found[name], query),
            "speed": compare(seconds[name], seconds[FULL]),
            "entities": sum(len(doc.ents) for doc in found[name]),
            "lost": count_lost(found[name], found[FULL]),
            "seconds": seconds[name],
        }
        results[name] = result
        lost = f"{result['lost']} of {results[FULL]['entities']}"
        rows.append([name, show(result["speed"]), f"{result['f']:.1f}", lost])
    header = ["inference", f"x as fast as {FULL}", "F1", f"{FULL}'s entities not found"]
    return Table(f"inference, {target}, {SHOTS}-shot", header, rows, results)


def recognize(nlp: Language, found: list[Doc], sentences: list[Sentence]) -> None:
    """Recognize sentences and keep the docs."""
    found += nlp.pipe(Doc(nlp.vocab, words=sentence.words) for sentence in sentences)


def score(nlp: Language, docs: list[Doc], sentences: list[Sentence]) -> float:
    """F1 of docs that were recognized."""
    examples = make_examples(nlp.vocab, sentences)
    for eg, doc in zip(examples, docs, strict=True):
        eg.predicted = doc
    return nlp.get_pipe("epnet_ner").score(examples)["ents_f"]  # type: ignore[attr-defined]


def count_lost(docs: list[Doc], others: list[Doc]) -> int:
    """Count the entities of others that weren't found just so."""
    pairs = zip(docs, others, strict=True)
    return sum(len(get_entities(other) - get_entities(doc)) for doc, other in pairs)


def get_entities(doc: Doc) -> set[tuple[int, int, str]]:
    """List the entities of a doc."""
    return {(ent.start, ent.end, ent.label_) for ent in doc.ents}
