"""The Adapt step: new types for a trained pipeline, from a support set."""

from collections.abc import Iterable
from dataclasses import replace
from time import perf_counter
from typing import Any, Literal

from spacy.language import Language

from ..errors import Errors
from ..gold import SpanPool, get_span_pool
from ..models.encoder_layers import get_network
from ..models.head import set_prototype
from ..prototypes import NONE_ROW
from ..spans import get_layout
from ..types import TokenVectors
from .checks import find_confusions
from .encoding import copy_transformer, encode_docs, encoding
from .pipelines import find_recognizer, share_pipeline
from .report import AdaptReport, Assigned
from .seeding import seeded
from .settings import AdaptSettings, make_settings
from .starts import choose_starts
from .support import Item, Support, read_support, realign
from .tune import OnStep, tune

# Settings of the component that an adaptation sets.
DECODING = ("overlaps", "decision", "none_bias")


def adapt(
    nlp: Language,
    examples: Iterable[Item],
    *,
    labels: Literal["replace", "extend"] = "replace",
    in_place: bool = False,
    name: str | None = None,
    profile: str | AdaptSettings = "default",
    on_step: OnStep = lambda step, loss: None,
    **changes: Any,
) -> AdaptReport:
    """Teach a trained pipeline new entity types from a few marked examples.

    nlp (Language): A pipeline with an `epnet_ner`.
    examples (Iterable[Item]): The support set: examples, annotated docs, or texts
        with entities, such as ("Ada left.", [(0, 3, "PERSON")]).
    labels (str): Whether the new types "replace" those of the pipeline, or "extend"
        them. Then all that the pipeline knew stays as it is: only the prototypes of
        the new types are trained.
    in_place (bool): Whether to change the pipeline itself. Otherwise it stays as it
        is, and the adapted one shares its encoder.
    name (Optional[str]): The component, if the pipeline has several recognisers.
    profile (Union[str, AdaptSettings]): The settings: "default", "paper", or others.
    on_step (Callable[[int, float], object]): Told of each step and its loss.
    **changes: Settings that differ from the profile's, such as lr=1e-3.
    RETURNS (AdaptReport): What was done. The adapted pipeline is its `nlp`.

    EXAMPLE:
        >>> report = adapt(nlp, [("Ada left.", [(0, 3, "PERSON")])])
        >>> doc = report.nlp("Grace stayed.")
    """
    clock = Clock()
    if labels not in ("replace", "extend"):
        expected = "replace or extend"
        raise ValueError(
            Errors.EP009.format(setting="labels", value=labels, expected=expected)
        )
    name = find_recognizer(nlp, name)
    source: Any = nlp.get_pipe(name)
    support = read_support(nlp, examples, max_width=source.max_width)
    shots = min(support.counts.values())
    extends = labels == "extend"
    settings = choose_settings(profile, shots, changes, extends=extends)
    twin = copy_pipeline(nlp, name, copies_encoder=settings.encoder_layers > 0)
    pipe: Any = twin.get_pipe(name)
    known = pipe.generations if extends else []
    old = pipe.prototypes if extends else {}
    new = [label for label in support.counts if label not in old]
    if not new:
        found = ", ".join(support.counts)
        raise ValueError(Errors.EP025.format(name=name, labels=found))
    with seeded(settings.seed):
        tokens = encode_docs(twin, name, support.docs)
        support = realign(support)
        clock.lap("encode")
        pool = get_pool(pipe, support, new, tokens, old)
        starts = choose_starts(twin, name, new, known, tokens, pool, settings)
        rows = {label: start.row for label, start in starts.items()}
        pipe.set_generations([*known, rows])
        for start in starts.values():
            if start.prototype is not None:
                set_prototype(pipe.model.get_ref("head"), start.row, start.prototype)
        clock.lap("assign")
        with encoding(twin, name, support.docs, tokens, settings) as encode:
            tuning = tune(
                pipe.model.get_ref("head"),
                encode,
                pool,
                pipe.model.ops.asarray1i([NONE_ROW, *old.values(), *rows.values()]),
                settings,
                tau=pipe.cfg["tau"] if settings.tau is None else settings.tau,
                trained_rows=[*rows.values()] if old else [NONE_ROW, *rows.values()],
                on_step=on_step,
            )
        clock.lap("tune")
        if settings.encoder_layers:
            tokens = encode_docs(twin, name, support.docs)
        if not known:
            set_decoding(twin, name, settings)
            pipe.forget()
        if settings.remember:
            pipe.remember(support.docs, support.golds)
        # How well the source did says nothing about the new types.
        twin.meta["performance"] = {}
        confusions = find_confusions(pipe, support, tokens, new)
        clock.lap("check")
    if in_place:
        take_over(nlp, twin, name)
    return AdaptReport(
        nlp=nlp if in_place else twin,
        name=name,
        settings=settings,
        assignment={
            label: Assigned(start.row, start.origins) for label, start in starts.items()
        },
        counts=support.counts,
        tuning=tuning,
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


def copy_pipeline(nlp: Language, name: str, *, copies_encoder: bool) -> Language:
    """Make a pipeline with a recogniser of its own.

    nlp (Language): The pipeline, which isn't changed.
    name (str): The recogniser.
    copies_encoder (bool): Whether it has an encoder of its own as well.
    RETURNS (Language): The copy.
    """
    if copies_encoder:
        return share_pipeline(nlp, apart=copy_transformer(nlp, name))
    pipe: Any = nlp.get_pipe(name)
    return share_pipeline(nlp, apart={name: pipe.copy_sharing_encoder()})


def take_over(nlp: Language, adapted: Language, name: str) -> None:
    """Change a pipeline to what its adapted copy is."""
    for (pipe_name, old), (_, new) in zip(nlp.pipeline, adapted.pipeline, strict=True):
        if pipe_name == name:
            old.take_over(new)  # type: ignore[attr-defined]
        elif old is not new:
            weights = get_network(new.model).state_dict()  # type: ignore[attr-defined]
            get_network(old.model).load_state_dict(weights)  # type: ignore[attr-defined]
    nlp.get_pipe_config(name).update(adapted.get_pipe_config(name))
    nlp.meta["performance"] = {}


def set_decoding(nlp: Language, name: str, settings: AdaptSettings) -> None:
    """Let a recogniser decide as the settings say, and its config say so too."""
    pipe: Any = nlp.get_pipe(name)
    for key in DECODING:
        pipe.cfg[key] = getattr(settings, key)
        nlp.get_pipe_config(name)[key] = getattr(settings, key)


def choose_settings(
    profile: str | AdaptSettings, shots: int, changes: dict[str, Any], *, extends: bool
) -> AdaptSettings:
    """Find the settings of an adaptation, and refuse those that can't be kept.

    profile (Union[str, AdaptSettings]): The profile.
    shots (int): How often the rarest type is marked.
    changes (Dict[str, Any]): Settings that differ from it.
    extends (bool): Whether types are added to others.
    RETURNS (AdaptSettings): The settings.
    """
    settings = make_settings(profile, shots=shots, extends=extends, **changes)
    if extends:
        fixed = {*DECODING, "trained_layers", "encoder_layers"} & set(changes)
        if fixed:
            raise ValueError(Errors.EP035.format(settings=", ".join(sorted(fixed))))
        return replace(settings, trained_layers=0, encoder_layers=0)
    if settings.encoder_layers:
        # Only the head's weights can be averaged, which must fit the encoder's.
        return replace(settings, average=0)
    return settings


def get_pool(
    pipe: Any,
    support: Support,
    labels: list[str],
    tokens: TokenVectors,
    old: dict[str, int],
) -> SpanPool:
    """The spans of a support set.

    pipe (EPNetRecognizer): The recogniser.
    support (Support): The support set.
    labels (List[str]): The types to learn.
    tokens (TokenVectors): The support set, encoded.
    old (Dict[str, int]): Types that stay, whose columns come first. What isn't marked
        is what the recogniser takes it for, so that it isn't taught to be None.
    RETURNS (SpanPool): The spans.
    """
    columns = {label: i for i, label in enumerate(labels, len(old) + 1)}
    golds = [
        gold._replace(ents=[ent for ent in gold.ents if ent.label_ in columns])
        for gold in support.golds
    ]
    ops = pipe.model.ops
    layout = get_layout(support.docs, ops=ops)
    pool = get_span_pool(golds, layout, columns, max_width=pipe.max_width, ops=ops)
    if not old:
        return pool
    rows = ops.asarray1i([NONE_ROW, *old.values()])
    distances, _ = pipe.model.get_ref("head").predict((tokens, pool.nones, rows))
    return pool._replace(none_targets=distances.argmin(axis=1).astype("i"))
