"""Pipelines around a recognizer: finding it, running what comes before it, copying."""

from collections.abc import Iterable, Iterator
from copy import copy, deepcopy
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy
import srsly
from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import Model

from ..encoder.listeners import get_listeners
from ..encoder.weights import copy_model, iter_weights
from ..errors import PipelineError
from ..types import TokenVectors
from .base import FewShotRecognizer
from .contract import Contract

# What a pipeline has besides its components.
PARTS = {"config.cfg", "meta.json", "tokenizer", "vocab"}


def find_recognizer(
    nlp: Language, name: str | None = None
) -> tuple[str, FewShotRecognizer]:
    """Find the few-shot recognizer of a pipeline.

    nlp (Language): The pipeline.
    name (Optional[str]): Its name, if there are several.
    RETURNS (Tuple[str, FewShotRecognizer]): Its name, and the recognizer.
    """
    found = {n: p for n, p in nlp.pipeline if isinstance(p, FewShotRecognizer)}
    if not found:
        known = ", ".join(nlp.pipe_names) or "no components"
        raise PipelineError(
            f"There is no few-shot recognizer in this pipeline. It has: {known}."
        )
    if name is None and len(found) > 1:
        raise PipelineError(
            "There are several few-shot recognizers in this pipeline: "
            f"{', '.join(found)}. Say which one is meant, with name='...', or --name "
            "on the command line."
        )
    if name is None:
        (name,) = found
    if name not in found:
        known = ", ".join(found)
        raise PipelineError(
            f"There is no few-shot recognizer called '{name}' in this pipeline. There "
            f"are: {known}."
        )
    return name, found[name]


def encode_docs(nlp: Language, name: str, docs: list[Doc]) -> TokenVectors:
    """Encode docs for a recognizer.

    nlp (Language): The pipeline.
    name (str): The recognizer.
    docs (List[Doc]): The docs. Components before the recognizer annotate them.
    RETURNS (TokenVectors): Their token vectors.
    """
    _, pipe = find_recognizer(nlp, name)
    for _ in run_upstream(nlp, name, docs):
        pass
    tokens = pipe.encode(docs)
    for doc in docs:
        forget_tensors(doc)
    return tokens


def encode_texts(nlp: Language, name: str, texts: list[str]) -> list[TokenVectors]:
    """Encode texts for a recognizer, together.

    nlp (Language): The pipeline.
    name (str): The recognizer.
    texts (List[str]): The texts.
    RETURNS (List[TokenVectors]): The token vectors of each.
    """
    docs = [nlp.make_doc(text) for text in texts]
    tokens = encode_docs(nlp, name, docs)
    ends = numpy.cumsum([len(doc) for doc in docs]).tolist()
    starts = [0, *ends[:-1]]
    return [tokens[start:end] for start, end in zip(starts, ends, strict=True)]


def run_upstream(nlp: Language, name: str, docs: Iterable[Doc]) -> Iterator[Doc]:
    """Run what comes before a component. The pipeline itself stays as it is, so that
    it can be used by others meanwhile.

    nlp (Language): The pipeline.
    name (str): The component.
    docs (Iterable[Doc]): The docs.
    YIELDS (Doc): The docs, in order.
    """
    before = nlp.pipe_names[: nlp.pipe_names.index(name)]
    if not before:
        yield from docs
        return
    upstream = copy(nlp)
    upstream._components = [(n, p) for n, p in nlp.pipeline if n in before]
    upstream._disabled = set()
    yield from upstream.pipe(docs)


def forget_tensors(doc: Doc) -> None:
    """Drop what the encoder left in a doc, which is large and no longer used."""
    if Doc.has_extension("trf_data"):
        doc._.trf_data = None


def find_encoders(nlp: Language, name: str) -> dict[str, Any]:
    """Find the components that a recognizer listens to.

    nlp (Language): The pipeline.
    name (str): The recognizer.
    RETURNS (Dict[str, Any]): The components, by their names.
    """
    components = dict(nlp._components)
    return {n: p for n, p in components.items() if name in get_listener_map(p)}


def get_listener_map(component: Any) -> dict[str, list[Model]]:
    """The listeners of each component that listens to this one."""
    return getattr(component, "listener_map", None) or {}


def copy_pipeline(nlp: Language, name: str, *, with_encoder: bool = False) -> Language:
    """Make a pipeline with a recognizer of its own.

    nlp (Language): The pipeline, which isn't changed, whatever happens to the copy
        later, except if the encoder is trained and shared.
    name (str): The recognizer.
    with_encoder (bool): Whether the copy has an encoder of its own. Otherwise it shares
        its weights.
    RETURNS (Language): The copy, which shares the components that don't feed the
        recognizer.
    """
    pipe = copy_recognizer(find_recognizer(nlp, name)[1], with_encoder=with_encoder)
    twin = _copy_frame(nlp)
    apart: dict[str, Any] = {name: pipe}
    for encoder_name, encoder in find_encoders(nlp, name).items():
        apart[encoder_name] = other = copy(encoder)
        other.listener_map = {
            **{n: list(own) for n, own in encoder.listener_map.items()},
            name: get_listeners(pipe.model),
        }
        if with_encoder:
            other.model = copy_model(encoder.model)
    # spaCy has no public way to make a pipeline over components that exist.
    twin._components = [(n, apart.get(n, p)) for n, p in nlp._components]
    pipe.cfg.follow(twin, name)
    return twin


def copy_recognizer(
    pipe: FewShotRecognizer, *, with_encoder: bool = False
) -> FewShotRecognizer:
    """Copy a recognizer, and if wanted the networks its token vectors come from."""
    twin = copy(pipe)
    twin.cfg = copy(pipe.cfg)
    twin.learned = deepcopy(pipe.learned)
    shared = None if with_encoder else pipe.model.get_ref("tok2vec")
    twin.model = copy_model(pipe.model, sharing=shared)
    return twin


def take_over(nlp: Language, twin: Language, name: str) -> None:
    """Change a pipeline to what a copy of it has become, in one step: texts that are on
    their way through it get to their end by the components they have begun with.

    nlp (Language): The pipeline.
    twin (Language): The copy.
    name (str): The recognizer that has changed.
    """
    _, pipe = find_recognizer(twin, name)
    changed = {name: pipe, **find_encoders(twin, name)}
    nlp._pipe_configs[name] = twin._pipe_configs[name]
    nlp.meta["performance"] = twin.meta["performance"]
    pipe.cfg.follow(nlp, name)
    nlp._components = [(n, changed.get(n, part)) for n, part in nlp._components]


def _copy_frame(nlp: Language) -> Language:
    """A pipeline of the same components, with settings of its own."""
    twin = copy(nlp)
    twin._components = list(nlp._components)
    twin._meta = deepcopy(nlp._meta)
    twin._pipe_meta = dict(nlp._pipe_meta)
    twin._pipe_configs = deepcopy(nlp._pipe_configs)
    twin._config = nlp._config.copy()
    twin._disabled = set(nlp._disabled)
    twin._optimizer = None
    return twin


def is_pipeline(folder: Path) -> bool:
    """Whether a folder is empty or has a pipeline and nothing else."""
    files = {path.name for path in folder.iterdir()}
    if not files:
        return True
    if not files >= PARTS - {"vocab"}:
        return False
    try:
        meta: Any = srsly.read_json(folder / "meta.json")
        return files <= PARTS | set(meta.get("components", []))
    except (ValueError, AttributeError, TypeError):
        return False  # it has something else of that name


def hash_pipeline(nlp: Language) -> str:
    """Tell pipelines apart by their settings and by what they have learned."""
    digest = sha256(nlp.config.to_str(interpolate=False).encode("utf8"))
    for _, part in nlp.pipeline:
        known = (
            part.learned if isinstance(part, Contract) else getattr(part, "cfg", None)
        )
        digest.update(srsly.json_dumps(known, sort_keys=True).encode("utf8"))
        model = getattr(part, "model", None)
        if isinstance(model, Model):
            update_hash(digest, model)
    return digest.hexdigest()


def hash_encoder(nlp: Language, name: str) -> str:
    """Tell pipelines of one tokenizer apart by the token vectors that their recognizers
    get.

    nlp (Language): The pipeline.
    name (str): The recognizer.
    RETURNS (str): The hash of all that makes them.
    """
    before = nlp.pipe_names[: nlp.pipe_names.index(name)]
    settings = {n: nlp.get_pipe_config(n) for n in before}
    settings[""] = nlp.get_pipe_config(name)["model"].get("tok2vec")
    digest = sha256(srsly.json_dumps(settings, sort_keys=True).encode("utf8"))
    for part in map(nlp.get_pipe, before):
        model = getattr(part, "model", None)
        if isinstance(model, Model):
            update_hash(digest, model)
    _, pipe = find_recognizer(nlp, name)
    update_hash(digest, pipe.model.get_ref("tok2vec"))
    return digest.hexdigest()


def update_hash(digest: Any, model: Model) -> None:
    """Take all weights of a model into a hash."""
    for weights in iter_weights(model):
        digest.update(weights)
