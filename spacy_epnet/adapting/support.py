"""The support set: marked examples as a person gives them, and what may be wrong."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example

from ..corpora.labels import copy_tokens, is_label, is_offset
from ..errors import SettingError, SupportError, shorten
from ..overlaps import drop_overlaps
from ..recognizer.base import FewShotRecognizer
from ..recognizer.checks import check_labels
from ..recognizer.gold import Gold, find_sent_starts, read_gold
from ..recognizer.pipeline import get_words

Annotated: TypeAlias = tuple[str, Sequence[tuple[int, int, str]]]
Item: TypeAlias = Example | Doc | Annotated

MAX_LENGTH = 500  # of what a type is in words
NO_EXAMPLES = (
    "there are no examples of it, and this recognizer can't learn a type from its "
    "name. Mark some, or adapt a trained pipeline with epnet_ner, such as small"
)


class Problem(NamedTuple):
    """Something wrong with a support set."""

    where: str  # a type or a text
    what: str
    is_fatal: bool = True
    lost: str | None = None  # the type of an entity that can't be used


class Support(NamedTuple):
    """A support set that can be learned from."""

    examples: list[Example]
    golds: list[Gold]
    problems: list[Problem]  # that are no reason to give up
    texts: Mapping[str, str] = {}  # what types are in words, if it is said

    @property
    def docs(self) -> list[Doc]:
        """RETURNS (List[Doc]): What the pipeline sees of it."""
        return [eg.predicted for eg in self.examples]

    @property
    def counts(self) -> dict[str, int]:
        """RETURNS (Dict[str, int]): Entities of each type, in the order of types."""
        labels = (ent.label_ for gold in self.golds for ent in gold.ents)
        counts = Counter(labels)
        return {label: counts[label] for label in sorted({*counts, *self.texts})}


def read_labels(
    recognizer: FewShotRecognizer, labels: Iterable[str] | Mapping[str, str]
) -> dict[str, str]:
    """Check types that are given by their names, or by what they are in words.

    RETURNS (Dict[str, str]): What each is in words, or nothing.
    """
    if isinstance(labels, str) or not isinstance(labels, Iterable):
        raise SettingError(
            f"Can't read labels={labels!r}. It is a list of types, such as ['person'], "
            "or what each is in words. To let new types join those that there are, "
            "pass extend=True."
        )
    texts = dict(labels) if isinstance(labels, Mapping) else {}
    for label in check_labels(recognizer.name, labels):
        text = texts.setdefault(label, "")
        if not isinstance(text, str) or len(text) > MAX_LENGTH:
            raise SettingError(
                f"What {label} is must be said in {MAX_LENGTH} characters at the most: "
                f"{shorten(repr(text))}."
            )
    return texts


def read_support(
    nlp: Language,
    items: Iterable[Item],
    recognizer: FewShotRecognizer,
    *,
    texts: Mapping[str, str] = {},
    strict: bool = True,
) -> Support:
    """Bring examples of any form onto the tokens of a pipeline, and check them.

    nlp (Language): The pipeline, for its tokenizer.
    items (Iterable[Item]): Examples, annotated docs, or texts with the characters
        and the label of each entity.
    recognizer (FewShotRecognizer): The recognizer that is to learn from it.
    texts (Mapping[str, str]): Types that need no examples, and what they are in words.
    strict (bool): See `check_support`.
    RETURNS (Support): The docs and what is known of them.
    """
    problems: list[Problem] = []
    examples = [make_example(nlp, item, problems) for item in items]
    examples = [eg for eg in examples if len(eg.predicted)]
    problems += find_contradictions(examples)
    support = Support(examples, [], problems, texts)
    return check_support(support, recognizer, strict=strict)


def check_support(
    support: Support, recognizer: FewShotRecognizer, *, strict: bool
) -> Support:
    """Refuse a support set from which nothing can be learned.

    support (Support): The examples, and what is known to be wrong with them.
    recognizer (FewShotRecognizer): The recognizer that is to learn from it.
    strict (bool): Also raise if no example of some type could be predicted.
    RETURNS (Support): The same with its annotation.
    """
    examples, _, problems, texts = support
    golds = [read_gold(eg) for eg in examples]
    lost = Counter(problem.lost for problem in problems if problem.lost)
    lost.update(ent.label_ for gold in golds for ent in gold.misaligned)
    ents = [ent for gold in golds for ent in gold.ents]
    problems = [*problems, *find_unusable(ents, lost, recognizer, strict=strict)]
    named = sorted({*texts} - {ent.label_ for ent in ents})
    if not recognizer.knows_names:
        problems += [Problem(label, NO_EXAMPLES) for label in named]
    problems += find_same_names(named, texts)
    is_marked = any(gold.ents or gold.misaligned for gold in golds)
    if not (is_marked or problems or texts):
        what = "there are no texts in it" if not examples else "nothing is marked in it"
        problems.append(Problem("the support set", what))
    if any(problem.is_fatal for problem in problems):
        # With where marks that can't be used should have ended.
        raise SupportError([p for p in problems if p.is_fatal or p.lost])
    return Support(examples, golds, problems, texts)


def find_same_names(labels: list[str], texts: Mapping[str, str]) -> list[Problem]:
    """Find types without examples that nothing tells apart."""
    problems = []
    known: dict[str, str] = {}
    for label in labels:
        other = known.setdefault(get_words(f"{label} {texts[label]}"), label)
        if other != label:
            what = f"it is the same in words as {other}. Give them different names"
            problems.append(Problem(label, what))
    return problems


def realign(
    support: Support, recognizer: FewShotRecognizer, *, strict: bool = True
) -> Support:
    """Read the annotation again after components of the pipeline have changed tokens or
    marked sentences, and refuse it if a type is lost by that.

    support (Support): The support set, after these components have run.
    recognizer (FewShotRecognizer): The recognizer that is to learn from it.
    strict (bool): See `check_support`.
    RETURNS (Support): The same with annotation that fits the tokens.
    """
    fits = [
        len(eg.predicted) == len(gold.unknown)
        for eg, gold in zip(support.examples, support.golds, strict=True)
    ]
    if all(fits):
        pairs = zip(support.examples, support.golds, strict=True)
        golds = [gold._replace(sent_starts=find_sent_starts(eg)) for eg, gold in pairs]
        return support._replace(golds=golds)
    problems = [p for p in support.problems if p.where not in support.counts]
    support = support._replace(problems=problems)
    return check_support(support, recognizer, strict=strict)


def make_example(nlp: Language, item: Item, problems: list[Problem]) -> Example:
    """Make an example whose predicted doc is bare.

    item (Item): An example in any form.
    problems (List[Problem]): Where what is wrong with it is added.
    RETURNS (Example): The example.
    """
    if isinstance(item, Example):
        return Example(copy_tokens(nlp.vocab, item.predicted), item.reference)
    if isinstance(item, Doc):
        return make_bare_example(nlp, item)
    try:
        text, entities = item
        marks = [read_mark(*mark) for mark in entities]
        predicted = nlp.make_doc(text)
    except UnicodeEncodeError as err:
        half = err.object[err.start]
        raise SettingError(
            f"The text {text[:200]!a} has {half!a}, which is half of a character, so "
            "spaCy can't read it. Leave it out, or read the file that it is from with "
            "the right encoding."
        ) from None
    except (TypeError, ValueError):
        raise SettingError(
            f"Can't read an example: {repr(item)[:200]}. Expected an Example, an "
            "annotated Doc, or a text with the first character, the end and the label "
            "of each entity, such as ('Ada left.', [(0, 3, 'PERSON')])."
        ) from None
    return Example(predicted, mark_entities(nlp.make_doc(text), marks, problems))


def read_mark(start: Any, end: Any, label: Any) -> tuple[int, int, str]:
    """Read the characters and the label of an entity."""
    # One that is blank is told with its place.
    is_text = isinstance(label, str) and (not label.strip() or is_label(label))
    if not (is_offset(start) and is_offset(end) and is_text):
        raise TypeError("not two whole numbers and a text")
    return int(start), int(end), label


def make_bare_example(nlp: Language, reference: Doc) -> Example:
    """Make an example of an annotated doc as spaCy's corpus readers do.

    nlp (Language): The pipeline, whose tokenizer is used if the text is known.
    reference (Doc): The annotated doc.
    RETURNS (Example): The example. Its predicted doc has no annotation.
    """
    if reference.has_unknown_spaces:
        return Example(copy_tokens(nlp.vocab, reference), reference)
    return Example(nlp.make_doc(reference.text), reference)


def mark_entities(
    doc: Doc, marks: list[tuple[int, int, str]], problems: list[Problem]
) -> Doc:
    """Mark entities given by characters, and tell of those that can't be."""
    ents: list[Span] = []
    unknown: list[Span] = []
    text = doc.text
    place = f'"{shorten(text)}"'
    for start, end, label in sorted(set(marks)):
        is_inside = 0 <= start < end <= len(text)
        span = doc.char_span(start, end, label=label) if is_inside else None
        if not label.strip():
            what = f"the mark from {start} to {end} has no label"
            problems.append(Problem(place, what))
        elif span is None:
            near = None
            if is_inside:
                near = doc.char_span(start, end, alignment_mode="expand")
            if near is None:
                what = f"{label} from {start} to {end} is no part of it"
            else:
                unknown.append(near)
                what = (
                    f'{label} "{shorten(text[start:end])}" ends inside a token and is '
                    f'left out. Mark "{shorten(near.text)}", from {near.start_char} to '
                    f"{near.end_char}"
                )
            problems.append(Problem(place, what, near is None, label if near else None))
        elif drop_overlaps([span], taken=ents):
            ents.append(span)
        else:
            what = f'{label} "{span.text}" overlaps another entity. Keep one of them'
            problems.append(Problem(place, what))
    unknown = [span for span in unknown if drop_overlaps([span], taken=ents)]
    tokens = sorted({token.i for span in unknown for token in span})
    doc.set_ents(ents, missing=[doc[i : i + 1] for i in tokens])
    return doc


def find_contradictions(examples: list[Example]) -> list[Problem]:
    """Texts that are there twice with different entities."""
    versions = defaultdict(set)
    for eg in examples:
        ents = [(e.start_char, e.end_char, e.label_) for e in eg.reference.ents]
        versions[eg.reference.text].add(frozenset(ents))
    problems = []
    for text, annotations in versions.items():
        if len(annotations) > 1:
            disputed = frozenset.union(*annotations) - frozenset.intersection(
                *annotations
            )
            marks = ", ".join(
                f'{label} "{text[start:end]}"' for start, end, label in sorted(disputed)
            )
            what = f"is there more than once, and not always marked with {marks}"
            problems.append(Problem(f'"{shorten(text)}"', what))
    return problems


def find_unusable(
    aligned: list[Span],
    lost: Counter[str],
    recognizer: FewShotRecognizer,
    *,
    strict: bool,
) -> list[Problem]:
    """Find types of which no example can be used, or not every one.

    aligned (List[Span]): Entities that line up with the tokens.
    lost (Counter[str]): How many of each type don't.
    strict (bool): See `check_support`.
    RETURNS (List[Problem]): What is wrong with each type.
    """
    problems = []
    by_label = defaultdict(list)
    for ent in aligned:
        by_label[ent.label_].append(ent)
    for label in sorted({*by_label, *lost}):
        ents = by_label[label]
        beyond = [ent for ent in ents if not recognizer.can_predict(ent)]
        if not ents:
            what = (
                f"none of its {lost[label]} examples lines up with the tokens of the "
                "pipeline"
            )
            problems.append(Problem(label, what))
        elif len(beyond) == len(ents):
            what = (
                f"all of its {len(ents)} examples are {recognizer.limits}, such as "
                f'"{shorten(beyond[0].text)}". Mark a part of them, or choose a '
                "source pipeline that has no such limit"
            )
            problems.append(Problem(label, what, is_fatal=strict))
        elif beyond or lost[label]:
            what = (
                f"{len(beyond)} of its examples are {recognizer.limits}, and "
                f"{lost[label]} don't line up with the tokens"
            )
            problems.append(Problem(label, what, is_fatal=False))
    return problems
