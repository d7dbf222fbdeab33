"""Analyze mistakes: entities missed, invented, cut, or taken for other types."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeAlias

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.vocab import Vocab

from ..adapting.support import make_bare_example
from ..recognizer.base import FewShotRecognizer

Kind: TypeAlias = Literal[
    "right",
    "mistyped",
    "cut short",
    "too long",
    "shifted",
    "mistyped and misplaced",
    "missed",
    "invented",
]
KINDS: tuple[Kind, ...] = Kind.__args__  # type: ignore[attr-defined]
NOTHING = "nothing"
# Longer entities are counted together.
LONGEST = 6


class Mark(NamedTuple):
    """An entity, by characters."""

    start: int
    end: int
    label: str

    def get_overlap(self, other: "Mark") -> int:
        """Count the characters that two have in common."""
        return max(0, min(self.end, other.end) - max(self.start, other.start))


class Finding(NamedTuple):
    """What became of an entity, or what is no entity and was taken for one."""

    kind: Kind
    example: int  # its index in the corpus
    text: str
    width: int  # in tokens
    gold: str | None
    predicted: str | None
    predicted_text: str | None


def recognize_marked(nlp: Language, docs: Iterable[Doc]) -> Iterator[Example]:
    """Let a pipeline recognize marked docs."""
    examples = [make_bare_example(nlp, doc) for doc in docs]
    recognized = nlp.pipe([eg.predicted for eg in examples])
    for eg, doc in zip(examples, recognized, strict=True):
        eg.predicted = doc
        yield eg


def find_mistakes(examples: Iterable[Example]) -> list[Finding]:
    """Return a finding for each entity that is marked, right ones too, and for each
    that is invented.
    """
    return [
        finding
        for i, eg in enumerate(examples)
        for finding in compare(i, list(eg.reference.ents), list(eg.predicted.ents))
    ]


def compare(index: int, gold: list[Span], predicted: list[Span]) -> list[Finding]:
    """Find what became of the entities of a doc, in the order of the text."""
    marks, others = (
        [Mark(ent.start_char, ent.end_char, ent.label_) for ent in ents]
        for ents in (gold, predicted)
    )
    pairs = match(marks, others)
    met: list[tuple[int, Finding]] = []
    for i, (ent, mark) in enumerate(zip(gold, marks, strict=True)):
        found = index, ent.text, len(ent), mark.label
        if i in pairs:
            other, text = others[pairs[i]], predicted[pairs[i]].text
            finding = Finding(judge(mark, other), *found, other.label, text)
        else:
            finding = Finding("missed", *found, None, None)
        met.append((mark.start, finding))
    for j, (ent, mark) in enumerate(zip(predicted, others, strict=True)):
        if j not in pairs.values():
            found = index, ent.text, len(ent), None
            finding = Finding("invented", *found, mark.label, ent.text)
            met.append((mark.start, finding))
    return [finding for _, finding in sorted(met, key=lambda pair: pair[0])]


def match(gold: list[Mark], predicted: list[Mark]) -> dict[int, int]:
    """Find which prediction is meant for which entity, by their indices: one that is
    the same, or else the one that has most in common with it, of the same type if
    possible. Each is used once.
    """
    candidates = [
        (a == b, a[:2] == b[:2], a.get_overlap(b), a.label == b.label, -i, -j)
        for i, a in enumerate(gold)
        for j, b in enumerate(predicted)
        if a.get_overlap(b)
    ]
    pairs: dict[int, int] = {}
    for *_, i, j in sorted(candidates, reverse=True):
        if -i not in pairs and -j not in pairs.values():
            pairs[-i] = -j
    return pairs


def judge(gold: Mark, predicted: Mark) -> Kind:
    """Say what is wrong with the prediction that is meant for an entity."""
    if gold[:2] == predicted[:2]:
        return "right" if gold.label == predicted.label else "mistyped"
    if gold.label != predicted.label:
        return "mistyped and misplaced"
    if gold.start <= predicted.start and predicted.end <= gold.end:
        return "cut short"
    if predicted.start <= gold.start and gold.end <= predicted.end:
        return "too long"
    return "shifted"


@dataclass
class Analysis:
    """Statistics of mistakes."""

    findings: list[Finding]
    known: Collection[str]  # entities of the support set, in lower case

    def count_kinds(self) -> dict[str, dict[Kind, int]]:
        """Count each kind by type: the marked one, or that of what is invented."""
        counts: dict[str, Counter[Kind]] = defaultdict(Counter)
        for finding in self.findings:
            counts[finding.gold or finding.predicted or ""][finding.kind] += 1
        return {label: {k: counts[label][k] for k in KINDS} for label in sorted(counts)}

    def confuse(self) -> dict[str, dict[str, int]]:
        """Count how often each type that is marked, and nothing, was taken for which,
        wherever its edges were seen.
        """
        labels = {label for f in self.findings for label in (f.gold, f.predicted)}
        names = [*sorted(filter(None, labels)), NOTHING]
        table = {row: dict.fromkeys(names, 0) for row in names}
        for f in self.findings:
            table[f.gold or NOTHING][f.predicted or NOTHING] += 1
        return table

    def count_widths(self) -> dict[str, dict[str, int]]:
        """Count the marked and the right entities of each length in tokens."""
        groups: dict[int, list[Finding]] = defaultdict(list)
        for f in self.findings:
            if f.gold is not None:
                groups[min(f.width, LONGEST)].append(f)
        return {
            f"{width}{'+' if width == LONGEST else ''}": tally(own)
            for width, own in sorted(groups.items())
        }

    def count_forms(self) -> dict[str, dict[str, Any]]:
        """Count for each type the different texts of its entities, and how many are
        right, of texts that are in the support set and of others.
        """
        groups: dict[str, list[Finding]] = defaultdict(list)
        for f in self.findings:
            if f.gold is not None:
                groups[f.gold].append(f)
        return {
            label: {
                "texts": len({f.text.lower() for f in own}),
                "known": tally(f for f in own if f.text.lower() in self.known),
                "new": tally(f for f in own if f.text.lower() not in self.known),
            }
            for label, own in sorted(groups.items())
        }

    def list_common(self, count: int = 10) -> list[dict[str, Any]]:
        """List the most frequent mistakes, the same ones in the same text together."""
        seen = Counter(
            (f.kind, f.text.lower(), f.gold, f.predicted, f.predicted_text)
            for f in self.findings
            if f.kind != "right"
        )
        keys = ("kind", "text", "gold", "predicted", "predicted_text")
        return [
            {**dict(zip(keys, mistake, strict=True)), "times": times}
            for mistake, times in seen.most_common(count)
        ]

    def to_dict(self) -> dict[str, Any]:
        """Return all of it, for JSON."""
        return {
            "kinds": self.count_kinds(),
            "confusion": self.confuse(),
            "widths": self.count_widths(),
            "forms": self.count_forms(),
            "common": self.list_common(),
            "findings": [f._asdict() for f in self.findings if f.kind != "right"],
        }


def analyze(recognizer: FewShotRecognizer, examples: Iterable[Example]) -> Analysis:
    """Analyze what a recognizer has made of examples."""
    known = list_known(recognizer.learned["support"])
    return Analysis(find_mistakes(examples), known)


def tally(findings: Iterable[Finding]) -> dict[str, int]:
    """Count entities that are marked, and how many of them are right."""
    kinds = [finding.kind for finding in findings]
    return {"marked": len(kinds), "right": kinds.count("right")}


def list_known(support: Iterable[dict[str, Any]]) -> set[str]:
    """List the texts of the entities in a kept support set, in lower case."""
    known = set()
    for example in support:
        doc = Doc(Vocab(), words=example["words"], spaces=example["spaces"])
        known |= {doc[start:end].text.lower() for start, end, _ in example["ents"]}
    return known
