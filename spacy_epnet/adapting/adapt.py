"""New types for a trained pipeline, from a support set."""

from collections.abc import Iterable
from functools import partial
from time import perf_counter
from typing import Any, Literal

from spacy.language import Language

from ..errors import InvalidSettingError, SettingError
from ..randomness import seeded
from ..recognizer.pipeline import (
    copy_pipeline,
    encode_docs,
    encode_texts,
    find_recognizer,
    take_over,
)
from ..recognizer.settings import make_adapt_config, resolve_adapt_settings
from ..recognizer.task import AdaptTask, OnStep
from .checks import find_confusions
from .joint_training import JointTraining, check_alone
from .report import AdaptReport, describe_origin
from .support import Item, read_support, realign
from .vocab_copy import make_separate_vocab


def adapt(
    nlp: Language,
    examples: Iterable[Item],
    *,
    labels: Literal["replace", "extend"] = "replace",
    in_place: bool = False,
    name: str | None = None,
    profile: str = "default",
    check: bool = True,
    on_step: OnStep = lambda step, loss: None,
    **changes: Any,
) -> AdaptReport:
    """Teach a trained pipeline new entity types from a few marked examples.

    nlp (Language): A pipeline with a few-shot recognizer, such as `epnet_ner`.
    examples (Iterable[Item]): The support set: examples, annotated docs, or texts
        with entities, such as ("Ada left.", [(0, 3, "PERSON")]).
    labels (str): Whether the new types "replace" those of the pipeline, or "extend"
        them.
    in_place (bool): Whether to change the pipeline itself. Otherwise it stays as it
        is, and the adapted one shares the weights of its encoder, unless the recognizer
        trains it.
    name (Optional[str]): The component, if the pipeline has several recognizers.
    profile (str): The settings to begin with, one of the recognizer's profiles.
    check (bool): Whether to refuse types like none of whose examples anything can be
        predicted, and to look for those whose examples are missed even so, which takes
        a little time. When systems are measured, such types just count as missed.
    on_step (Callable[[int, float], object]): Told of each step and its loss.
    **changes: Settings that differ from the profile's, such as lr=1e-3. A registered
        function is given as in a config, such as {"@misc": "my_assignment.v1"}.
    RETURNS (AdaptReport): What was done. The adapted pipeline is its `nlp`.

    EXAMPLE:
        >>> report = adapt(nlp, [("Ada left.", [(0, 3, "PERSON")])])
        >>> doc = report.nlp("Grace stayed.")
    """
    clock = Clock()
    if labels not in ("replace", "extend"):
        expected = "replace or extend"
        raise InvalidSettingError("labels", labels, expected)
    extends = labels == "extend"
    name, source = find_recognizer(nlp, name)
    origin = describe_origin(nlp, source)
    support = read_support(make_separate_vocab(nlp), examples, source, strict=check)
    config = make_adapt_config(
        source.profiles,
        profile,
        changes,
        shots=min(support.counts.values()),
        extends=extends,
        fixed=source.fixed_when_extending,
    )
    settings = resolve_adapt_settings(source.adapt_type, config)
    # Types that are kept depend on the encoder as it is.
    with_encoder = source.trains_encoder and not extends
    if with_encoder:
        check_alone(nlp, name)
    twin = copy_pipeline(nlp, name, with_encoder=with_encoder)
    _, pipe = find_recognizer(twin, name)
    known = pipe.labels if extends else ()
    with seeded(settings.seed):
        tokens = encode_docs(twin, name, support.docs)
        support = realign(support, pipe, strict=check)
        new = [label for label in support.counts if label not in known]
        if not new:
            found = ", ".join(support.counts)
            raise SettingError(
                f"All types of the support set are known already: {found}. There is "
                f"nothing to extend '{name}' with. To learn them anew, adapt with "
                "labels='replace'."
            )
        clock.lap("encode")
        training = None
        if with_encoder:
            training = JointTraining(twin, name, support.docs, support.golds)
        task = AdaptTask(
            support.docs,
            support.golds,
            tokens,
            new,
            extends,
            config,
            partial(encode_texts, twin, name),
            on_step,
            training,
        )
        learning = pipe.learn(task, settings)
        if training is not None:
            tokens = training.encode()
        clock.lap("learn")
        if not extends:
            pipe.forget()
        if settings.remember:
            pipe.remember(support.docs, support.golds)
        # How well the source did says nothing about the new types.
        twin.meta["performance"] = {}
        confusions = find_confusions(pipe, support, tokens, new) if check else []
        clock.lap("check")
    if in_place:
        take_over(nlp, twin, name)
    return AdaptReport(
        nlp=nlp if in_place else twin,
        name=name,
        source=origin,
        settings=config,
        learning=learning,
        counts={label: support.counts[label] for label in new},
        seconds=clock.read(),
        problems=[*support.problems, *confusions],
    )


class Clock:
    """Measures how long each part of some work takes."""

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
