"""Explain why an entity was predicted."""

from typing import Any, NamedTuple

import numpy
from spacy.language import Language
from spacy.tokens import Doc

from ..recognizer.pipeline import RecognizerPipeline, find_recognizer

NOTHING = "no entity"


class Neighbor(NamedTuple):
    """An entity of the support set that is near."""

    text: str
    label: str
    sentence: str
    distance: float  # squared, in the space in which spans are compared


class Explanation(NamedTuple):
    """Explanation of a predicted entity."""

    text: str
    start: int  # in tokens
    end: int
    label: str
    probability: float
    runners_up: list[tuple[str, float]]  # what else it could be, and how probably
    neighbors: list[Neighbor]  # empty if no support set was kept


def explain(
    nlp: Language, text: str, *, name: str | None = None, count: int = 3
) -> list[Explanation]:
    """Explain the entities that are recognized in a text.

    nlp (Language): The pipeline.
    text (str): The text.
    name (Optional[str]): The component, if the pipeline has several recognizers.
    count (int): How many runners-up and neighbors to give.
    RETURNS (List[Explanation]): One for each entity, in the order of the text.
    """
    pipeline = find_recognizer(nlp, name)
    pipe = pipeline.recognizer
    ops = pipe.model.ops
    doc = nlp.make_doc(text)
    if not len(doc):
        return []
    tokens = pipeline.encode([doc])
    (predictions,) = pipe.recognize([doc], tokens)
    if not predictions:
        return []
    spans = ops.asarray2i([(p.start, p.end - p.start) for p in predictions])
    ratings = pipe.rate([doc], tokens, spans)
    points = ops.to_numpy(pipe.embed([doc], tokens, spans))
    known, vectors = recall_support(pipeline)
    explanations = []
    for entity, point, scores in zip(predictions, points, ratings, strict=True):
        others = {
            label or NOTHING: p for label, p in scores.items() if label != entity.label
        }
        distances = ((vectors - point) ** 2).sum(axis=1)
        explanations.append(
            Explanation(
                doc[entity.start : entity.end].text,
                entity.start,
                entity.end,
                entity.label,
                entity.score,
                sorted(others.items(), key=lambda item: -item[1])[:count],
                [
                    known[i]._replace(distance=float(distances[i]))
                    for i in numpy.argsort(distances, kind="stable")[:count]
                ],
            )
        )
    return explanations


def recall_support(pipeline: RecognizerPipeline) -> tuple[list[Neighbor], Any]:
    """List the entities of the support set that a recognizer remembers, whose distance
    to anything is still unknown, and (entities, n) where they are now.
    """
    nlp, pipe = pipeline.nlp, pipeline.recognizer
    docs, spans, known = [], [], []
    offset = 0
    for example in pipe.learned["support"]:
        doc = Doc(nlp.vocab, words=example["words"], spaces=example["spaces"])
        for start, end, label in example["ents"]:
            spans.append((offset + start, end - start))
            known.append(Neighbor(doc[start:end].text, label, doc.text, numpy.inf))
        docs.append(doc)
        offset += len(doc)
    if not spans:
        return [], numpy.zeros((0, 1))
    ops = pipe.model.ops
    tokens = pipeline.encode(docs)
    return known, ops.to_numpy(pipe.embed(docs, tokens, ops.asarray2i(spans)))
