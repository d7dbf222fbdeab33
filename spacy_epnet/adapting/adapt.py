"""New types for a trained pipeline, from a support set."""

from collections.abc import Iterable, Mapping
from time import perf_counter
from typing import Any

from spacy.language import Language

from ..errors import SettingError
from ..randomness import seeded
from ..recognizer.base import FewShotRecognizer
from ..recognizer.pipeline import RecognizerPipeline, find_recognizer
from ..recognizer.settings import (
    AdaptSettings,
    make_adapt_config,
    resolve_settings,
)
from ..recognizer.task import AdaptTask, LearningReport, OnStep
from ..recognizer.training_config import without_corpora
from ..types import TokenVectors
from .joint_training import JointTraining, check_alone
from .report import AdaptReport, describe_origin, find_confusions
from .support import Item, Support, read_labels, read_support, realign
from .vocab_copy import make_separate_vocab


def adapt(
    nlp: Language,
    examples: Iterable[Item] = (),
    *,
    labels: Iterable[str] | Mapping[str, str] = (),
    extend: bool = False,
    in_place: bool = False,
    name: str | None = None,
    profile: str = "default",
    check: bool = True,
    on_step: OnStep = lambda step, loss: None,
    **changes: Any,
) -> AdaptReport:
    """Teach a trained pipeline new entity types, from a few marked examples, from their
    names, or from both.

    nlp (Language): A pipeline with a few-shot recognizer, such as `epnet_ner`.
    examples (Iterable[Item]): The support set: examples, annotated docs, or texts
        with entities, such as ("Ada left.", [(0, 3, "PERSON")]).
    labels (Union[Iterable[str], Mapping[str, str]]): Types to learn even if they have
        no examples, for a recognizer that knows what names mean, or what types are in
        words: {"PARTY": "a political party or alliance"}.
    extend (bool): Whether the new types join those of the pipeline. Otherwise they
        replace them.
    in_place (bool): Whether to change the pipeline itself. Otherwise it stays as it
        is, and the adapted one shares the weights of its encoder, unless the recognizer
        trains it.
    name (Optional[str]): The component, if the pipeline has several recognizers.
    profile (str): The settings to begin with, one of the recognizer's profiles.
    check (bool): Whether to refuse types whose examples can't be predicted, and to look
        for those whose examples are missed even so, which takes a little time. When
        systems are measured, such types just count as missed.
    on_step (Callable[[int, float], object]): Called with each step and its loss.
    **changes: Settings that differ from the profile's, such as lr=1e-3. A registered
        function is given as in a config, such as {"@misc": "my_assignment.v1"}.
    RETURNS (AdaptReport): What was done. The adapted pipeline is its `nlp`.

    EXAMPLE:
        >>> report = adapt(nlp, [("Ada left.", [(0, 3, "PERSON")])])
        >>> report = adapt(nlp, labels=["person", "place"])
        >>> doc = report.nlp("Grace stayed.")
    """
    clock = Clock()
    source = find_recognizer(nlp, name)
    origin = describe_origin(source)
    support = read_support(
        make_separate_vocab(nlp),
        examples,
        source.recognizer,
        texts=read_labels(source.recognizer, labels),
        strict=check,
    )
    config, settings = choose_settings(
        source.recognizer, profile, changes, counts=support.counts, extends=extend
    )
    # Types that are kept depend on the encoder as it is.
    trains_encoder = source.recognizer.trains_encoder and not extend
    if trains_encoder:
        check_alone(source)
    adapted = source.copy(with_encoder=trains_encoder)
    with seeded(settings.seed):
        tokens = adapted.encode(support.docs)
        support = realign(support, adapted.recognizer, strict=check)
        task = make_task(
            adapted,
            support,
            tokens,
            config=config,
            extends=extend,
            training=JointTraining(adapted, support) if trains_encoder else None,
            on_step=on_step,
        )
        clock.lap("encode")
        learning, tokens = learn(adapted, task, settings)
        clock.lap("learn")
        problems = [*support.problems]
        if check:
            problems += find_confusions(adapted.recognizer, task, tokens)
        clock.lap("check")
    if in_place:
        source.become(adapted)
    return AdaptReport(
        nlp=nlp if in_place else adapted.nlp,
        name=source.name,
        source=origin,
        settings=config,
        learning=learning,
        counts={label: support.counts[label] for label in task.labels},
        seconds=clock.read(),
        problems=problems,
    )


def choose_settings(
    recognizer: FewShotRecognizer,
    profile: str,
    changes: Mapping[str, Any],
    *,
    counts: Mapping[str, int],
    extends: bool,
) -> tuple[dict[str, Any], AdaptSettings]:
    """Choose the settings of an adaptation. See `make_adapt_config`.

    counts (Mapping[str, int]): How often each type is marked in the support set.
    RETURNS (Tuple[Dict[str, Any], AdaptSettings]): The settings as in a config, and
        resolved.
    """
    schema = recognizer.settings_type.Adapt
    config = make_adapt_config(
        schema,
        profile,
        changes,
        shots=min(filter(None, counts.values()), default=0),
        extends=extends,
        fixed=recognizer.fixed_when_extending,
    )
    return config, resolve_settings(schema, config, prefix="adapt.")


def make_task(
    adapted: RecognizerPipeline,
    support: Support,
    tokens: TokenVectors,
    *,
    config: dict[str, Any],
    extends: bool,
    training: JointTraining | None,
    on_step: OnStep,
) -> AdaptTask:
    """Describe what is to be learned from an encoded support set. See `AdaptTask`."""
    recognizer = adapted.recognizer
    known = recognizer.labels if extends else ()
    labels = [label for label in support.counts if label not in known]
    if not labels:
        raise SettingError(
            "All types of the support set are known already: "
            f"{', '.join(support.counts)}. There is nothing to extend "
            f"'{adapted.name}' with. To learn them anew, adapt without extend=True."
        )
    return AdaptTask(
        docs=support.docs,
        golds=support.golds,
        tokens=tokens,
        labels=labels,
        extends=extends,
        config=config,
        texts=support.texts,
        names={
            names: adapted.encode_names(names)
            for names in recognizer.list_names(labels, support.texts)
        },
        on_step=on_step,
        training=training,
    )


def learn(
    adapted: RecognizerPipeline, task: AdaptTask, settings: AdaptSettings
) -> tuple[LearningReport, TokenVectors]:
    """Learn from a support set, and keep it if wanted.

    RETURNS (Tuple[LearningReport, TokenVectors]): What was learned, and the token
        vectors of the support set as they are now.
    """
    recognizer = adapted.recognizer
    report = recognizer.learn(task, settings)
    tokens = task.tokens if task.training is None else task.training.encode()
    if not task.extends:
        recognizer.forget()
    if settings.remember:
        recognizer.remember(task.docs, task.golds)
    # How well the source did says nothing about the new types, and its corpora are with
    # those who trained it.
    adapted.nlp.meta["performance"] = {}
    adapted.nlp.config = without_corpora(adapted.nlp)
    return report, tokens


class Clock:
    """Measures how long each step of some work takes."""

    def __init__(self) -> None:
        self._begin = self._last = perf_counter()
        self._seconds: dict[str, float] = {}

    def lap(self, part: str) -> None:
        """End a part of the work."""
        now = perf_counter()
        self._seconds[part], self._last = now - self._last, now

    def read(self) -> dict[str, float]:
        """RETURNS (Dict[str, float]): The seconds of each part and in all."""
        return {**self._seconds, "total": perf_counter() - self._begin}
