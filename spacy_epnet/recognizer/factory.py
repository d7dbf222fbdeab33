"""Factories of recognizers, made of their settings."""

from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any, TypeVar

from spacy.language import Language
from thinc.api import Model

from .base import FewShotRecognizer
from .settings import RecognizerSettings, make_parameters

RecognizerT = TypeVar("RecognizerT", bound=FewShotRecognizer)

# Token vectors of the pipeline's transformer, and how words are written, which an
# uncased encoder doesn't see.
TOK2VEC = {
    "@architectures": "spacy-epnet.SurfaceTok2Vec.v1",
    "tok2vec": {
        "@architectures": "spacy-transformers.TransformerListener.v1",
        "grad_factor": 1.0,
        "upstream": "*",
        "pooling": {"@layers": "reduce_mean.v1"},
    },
}


def register_factory(
    factory: str, recognizer: type[RecognizerT]
) -> Callable[..., RecognizerT]:
    """Register the factory of a recognizer.

    factory (str): Its name, for `nlp.add_pipe`.
    RETURNS (Callable): The factory, whose arguments and defaults are the settings of
        the recognizer.
    """

    def make(
        nlp: Language,
        name: str,
        model: Model[Any, Any],
        scorer: Callable[..., Any] | None,
        **settings: Any,
    ) -> RecognizerT:
        pipe = recognizer(nlp.vocab, model, name, scorer=scorer, **settings)
        pipe.cfg.follow(nlp, name)
        return pipe

    own = ("nlp", Language), ("name", str), ("model", Model), ("scorer", Any)
    parameters = [
        *(Parameter(n, Parameter.KEYWORD_ONLY, annotation=kind) for n, kind in own),
        *make_parameters(recognizer.settings_type),
    ]
    make.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    make.__name__ = make.__qualname__ = f"make_{factory}"
    make.__doc__ = recognizer.settings_type.__doc__
    return Language.factory(
        factory,
        assigns=["doc.ents", "doc.spans", "token.ent_iob", "token.ent_type"],
        default_config=make_default_config(recognizer.settings_type),
        default_score_weights={
            "ents_f": 1.0,
            "ents_p": 0.0,
            "ents_r": 0.0,
            "ents_per_type": None,
        },
    )(make)


def make_default_config(settings: type[RecognizerSettings]) -> dict[str, Any]:
    """Make the default config of a recognizer.

    RETURNS (Dict[str, Any]): The config of the component and its model.
    """
    return {
        **settings.get_defaults(),
        "scorer": {"@scorers": "spacy.ner_scorer.v1"},
        "model": {
            "@architectures": settings.Model.architecture,
            **settings.Model.get_defaults(),
            "tok2vec": TOK2VEC,
        },
    }
