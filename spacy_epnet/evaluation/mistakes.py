"""Analyze mistakes: entities missed, invented, cut, or taken for other types."""

from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.vocab import Vocab

from ..adapting.support import make_bare_example

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


def recognize_marked(
    nlp: Language, docs: Iterable[Doc], on_doc: Callable[[], object] = lambda: None
) -> list[Example]:
    """Let a pipeline recognize marked docs. `on_doc` is called after each."""
    examples = [make_bare_example(nlp, doc) for doc in docs]
    recognized = nlp.pipe([eg.predicted for eg in examples])
    for eg, doc in zip(examples, recognized, strict=True):
        eg.predicted = doc
        on_doc()
    return examples


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
    pairs = match([to_mark(ent) for ent in gold], [to_mark(ent) for ent in predicted])
    left = [ent for j, ent in enumerate(predicted) if j not in pairs.values()]
    met: list[tuple[int, Finding]] = []
    for i, ent in enumerate(gold):
        other = predicted[pairs[i]] if i in pairs else None
        met.append((ent.start_char, make_finding(index, ent, other)))
    met += [(ent.start_char, make_finding(index, None, ent)) for ent in left]
    return [finding for _, finding in sorted(met, key=lambda pair: pair[0])]


def make_finding(index: int, gold: Span | None, predicted: Span | None) -> Finding:
    """Make the finding about an entity and its prediction, one of which may be None."""
    ent: Any = gold or predicted
    kind: Kind = "invented"
    if gold is not None:
        kind = judge(to_mark(gold), None if predicted is None else to_mark(predicted))
    return Finding(
        kind,
        index,
        ent.text,
        len(ent),
        None if gold is None else gold.label_,
        None if predicted is None else predicted.label_,
        None if predicted is None else predicted.text,
    )


def to_mark(ent: Span) -> Mark:
    """Convert an entity to character offsets."""
    return Mark(ent.start_char, ent.end_char, ent.label_)


def match(gold: list[Mark], predicted: list[Mark]) -> dict[int, int]:
    """Find which prediction is meant for which entity: one that is the same, or else
    the one that has most in common with it, of the same type if possible. Each is used
    once.

    RETURNS (Dict[int, int]): The index of the prediction for indices of entities.
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


def judge(gold: Mark, predicted: Mark | None) -> Kind:
    """Say what is wrong with a prediction."""
    if predicted is None:
        return "missed"
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
    """Statistics of mistakes.

    findings (List[Finding]): The findings.
    known (Collection[str]): Entities of the support set, in lower case.
    """

    findings: list[Finding]
    known: Collection[str] = field(default_factory=frozenset)

    def count_kinds(self) -> dict[str, dict[Kind, int]]:
        """RETURNS (Dict[str, Dict[Kind, int]]): How often each thing happened, by type:
        the marked one, or that of what is invented.
        """
        counts: dict[str, Counter[Kind]] = defaultdict(Counter)
        for finding in self.findings:
            counts[finding.gold or finding.predicted or ""][finding.kind] += 1
        return {label: {k: counts[label][k] for k in KINDS} for label in sorted(counts)}

    def confuse(self) -> dict[str, dict[str, int]]:
        """RETURNS (Dict[str, Dict[str, int]]): For each type that is marked, and for
        nothing, how often it was taken for which, wherever its edges were seen.
        """
        labels = {label for f in self.findings for label in (f.gold, f.predicted)}
        names = [*sorted(filter(None, labels)), NOTHING]
        table = {row: dict.fromkeys(names, 0) for row in names}
        for f in self.findings:
            table[f.gold or NOTHING][f.predicted or NOTHING] += 1
        return table

    def count_widths(self) -> dict[str, dict[str, int]]:
        """RETURNS (Dict[str, Dict[str, int]]): How many entities of each length, in
        tokens, are marked, and how many are right.
        """
        groups: dict[int, list[Finding]] = defaultdict(list)
        for f in self.findings:
            if f.gold is not None:
                groups[min(f.width, LONGEST)].append(f)
        return {
            f"{width}{'+' if width == LONGEST else ''}": tally(own)
            for width, own in sorted(groups.items())
        }

    def count_forms(self) -> dict[str, dict[str, Any]]:
        """RETURNS (Dict[str, Dict[str, Any]]): For each type how many different texts
        its entities have, and how many of them are right, of texts that are in the
        support set and of others.
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
        """RETURNS (List[Dict[str, Any]]): The mistakes that are made most often, the
        same ones in the same text together.
        """
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
        """RETURNS (Dict[str, Any]): All of it, for JSON."""
        return {
            "kinds": self.count_kinds(),
            "confusion": self.confuse(),
            "widths": self.count_widths(),
            "forms": self.count_forms(),
            "common": self.list_common(),
            "findings": [f._asdict() for f in self.findings if f.kind != "right"],
        }


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
