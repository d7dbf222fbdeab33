"""Pipelines around a recognizer: finding it, running what comes before it, copying."""

import re
from collections.abc import Iterable, Iterator, Mapping
from copy import copy, deepcopy
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy
import srsly
from spacy.language import Language
from spacy.tokens import Doc
from thinc.api import Model
from thinc.types import Floats2d

from .._compat import (
    copy_language,
    enable_components,
    set_components,
    set_pipe_config,
)
from ..encoder.networks import copy_model, iter_weights
from ..encoder.vectors import get_listeners
from ..errors import PipelineError
from ..types import TokenVectors
from .base import FewShotRecognizer

# What a pipeline has besides its components.
PARTS = {"config.cfg", "meta.json", "tokenizer", "vocab"}


class RecognizerPipeline(NamedTuple):
    """A pipeline and the few-shot recognizer in it."""

    nlp: Language
    name: str
    recognizer: FewShotRecognizer

    @property
    def encoders(self) -> dict[str, Any]:
        """RETURNS (Dict[str, Any]): The components that the recognizer listens to."""
        components = self.nlp.components
        return {n: p for n, p in components if self.name in get_listener_map(p)}

    @property
    def names_before(self) -> list[str]:
        """RETURNS (List[str]): The components that run before the recognizer."""
        names = self.nlp.pipe_names
        return names[: names.index(self.name)]

    def run_before(self, docs: Iterable[Doc]) -> Iterator[Doc]:
        """Run the components before the recognizer. The pipeline itself isn't changed,
        so that others can use it meanwhile.

        YIELDS (Doc): The docs, in order.
        """
        before = self.names_before
        if not before:
            yield from docs
            return
        part = copy(self.nlp)
        set_components(part, [(n, p) for n, p in self.nlp.pipeline if n in before])
        enable_components(part)
        yield from part.pipe(docs)

    def encode(self, docs: list[Doc]) -> TokenVectors:
        """Encode docs for the recognizer.

        docs (List[Doc]): The docs. Components before the recognizer annotate them.
        RETURNS (TokenVectors): Their token vectors.
        """
        for _ in self.run_before(docs):
            pass
        tokens = self.recognizer.encode(docs)
        for doc in docs:
            forget_tensors(doc)
        return tokens

    def encode_names(self, names: Iterable[str]) -> Floats2d:
        """Encode the names of types, together.

        RETURNS (Floats2d): (names, d2) The mean of the token vectors of each.
        """
        docs = [self.nlp.make_doc(get_words(name)) for name in names]
        tokens = self.encode(docs)
        ends = numpy.cumsum([len(doc) for doc in docs]).tolist()
        ops = self.recognizer.model.ops
        parts = zip([0, *ends[:-1]], ends, strict=True)
        return numpy.stack(
            [ops.to_numpy(tokens[start:end]).mean(axis=0) for start, end in parts]
        )  # type: ignore[return-value]

    def copy(self, *, with_encoder: bool = False) -> "RecognizerPipeline":
        """Make a pipeline with a recognizer of its own.

        with_encoder (bool): Whether the copy has an encoder of its own. Otherwise it
            shares its weights.
        RETURNS (RecognizerPipeline): The copy, which shares the components that don't
            feed the recognizer. Changes of it don't change the pipeline.
        """
        recognizer = copy_recognizer(self.recognizer, with_encoder=with_encoder)
        own: dict[str, Any] = {self.name: recognizer}
        for name, encoder in self.encoders.items():
            own[name] = other = copy(encoder)
            other.listener_map = {
                **{n: list(listeners) for n, listeners in encoder.listener_map.items()},
                self.name: get_listeners(recognizer.model),
            }
            if with_encoder:
                other.model = copy_model(encoder.model)
        nlp = copy_language(self.nlp)
        set_components(nlp, [(n, own.get(n, p)) for n, p in self.nlp.components])
        recognizer.cfg.follow(nlp, self.name)
        return RecognizerPipeline(nlp, self.name, recognizer)

    def become(self, other: "RecognizerPipeline") -> None:
        """Change the pipeline to what a copy of it has become, in one step: texts that
        are being processed are finished by the components that they began with.

        other (RecognizerPipeline): The copy.
        """
        nlp, name = self.nlp, self.name
        changed = {name: other.recognizer, **other.encoders}
        set_pipe_config(nlp, name, other.nlp.get_pipe_config(name))
        nlp.meta["performance"] = other.nlp.meta["performance"]
        nlp.config = other.nlp.config.copy()
        other.recognizer.cfg.follow(nlp, name)
        set_components(nlp, [(n, changed.get(n, p)) for n, p in nlp.components])

    def hash_encoder(self) -> str:
        """Tell pipelines of one tokenizer apart by the token vectors that their
        recognizers get.

        RETURNS (str): The hash of everything that the token vectors depend on.
        """
        nlp, before = self.nlp, self.names_before
        settings = {n: nlp.get_pipe_config(n) for n in before}
        settings[""] = nlp.get_pipe_config(self.name)["model"].get("tok2vec")
        digest = sha256(srsly.json_dumps(settings, sort_keys=True).encode("utf8"))
        for part in map(nlp.get_pipe, before):
            model = getattr(part, "model", None)
            if isinstance(model, Model):
                update_hash(digest, model)
        update_hash(digest, self.recognizer.model.get_ref("tok2vec"))
        return digest.hexdigest()


def find_recognizer(nlp: Language, name: str | None = None) -> RecognizerPipeline:
    """Find the few-shot recognizer of a pipeline.

    name (Optional[str]): Its name, if there are several.
    RETURNS (RecognizerPipeline): The pipeline with the recognizer.
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
    return RecognizerPipeline(nlp, name, found[name])


def get_words(label: str) -> str:
    """Read a type's name as words: "creative-work", "workOfArt", "art/film"."""
    parts = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", label)
    return " ".join(re.findall(r"[^\W_]+", parts)).lower() or label


def get_listener_map(component: Any) -> dict[str, list[Model[Any, Any]]]:
    """Return the listeners of each component that listens to this one."""
    return getattr(component, "listener_map", None) or {}


def copy_recognizer(
    recognizer: FewShotRecognizer, *, with_encoder: bool = False
) -> FewShotRecognizer:
    """Copy a recognizer, and if wanted the networks its token vectors come from."""
    other = copy(recognizer)
    other.cfg = copy(recognizer.cfg)
    other.learned = deepcopy(recognizer.learned)
    shared = None if with_encoder else recognizer.model.get_ref("tok2vec")
    other.model = copy_model(recognizer.model, sharing=shared)
    return other


def forget_tensors(doc: Doc) -> None:
    """Drop what the encoder left in a doc, which is large and no longer used."""
    if Doc.has_extension("trf_data"):
        doc._.trf_data = None


def is_pipeline(folder: Path) -> bool:
    """Check whether a folder is empty or has a pipeline and nothing else."""
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
    """Tell pipelines apart by their settings and by what they have learned. A setting
    at its default doesn't count, so that a new one changes no hash.
    """
    settings = {
        name: leave_defaults_out(
            nlp.get_pipe_config(name), nlp.get_pipe_meta(name).default_config or {}
        )
        for name in nlp.component_names
    }
    config = srsly.json_dumps([nlp.config["nlp"], settings], sort_keys=True)
    digest = sha256(config.encode("utf8"))
    for _, part in nlp.pipeline:
        known = getattr(part, "cfg", None)
        if isinstance(part, FewShotRecognizer):
            known = part.learned
        digest.update(srsly.json_dumps(known, sort_keys=True).encode("utf8"))
        model = getattr(part, "model", None)
        if isinstance(model, Model):
            update_hash(digest, model)
    return digest.hexdigest()


def leave_defaults_out(
    config: Mapping[str, Any], defaults: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the settings of a config, and of the blocks in it, that differ from the
    defaults. Those of another function than the default one all do.
    """
    if any(k.startswith("@") and defaults.get(k) != v for k, v in config.items()):
        return dict(config)
    kept = {}
    for key, value in config.items():
        default = defaults.get(key)
        if isinstance(value, Mapping) and isinstance(default, Mapping):
            value, default = leave_defaults_out(value, default), {}
        if key not in defaults or value != default:
            kept[key] = value
    return kept


def update_hash(digest: Any, model: Model[Any, Any]) -> None:
    """Take all weights of a model into a hash."""
    for weights in iter_weights(model):
        digest.update(weights)
