"""The token vectors of a support set: made once, or trained along."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from typing import Any, TypeAlias

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Adam

from ..errors import Errors
from ..models.encoder_layers import get_layers, get_network, training_top_layers
from ..models.listeners import get_listeners
from ..types import TokenVectors
from .pipelines import forget_tensors, run_upstream
from .settings import AdaptSettings

# Gives the token vectors of the support set, and takes their gradient.
Encode: TypeAlias = Callable[[], tuple[TokenVectors, Callable[[TokenVectors], Any]]]


def encode_docs(nlp: Language, name: str, docs: list[Doc]) -> TokenVectors:
    """Encode docs for a recogniser.

    nlp (Language): The pipeline.
    name (str): The recogniser.
    docs (List[Doc]): The docs. Components before the recogniser annotate them.
    RETURNS (TokenVectors): Their token vectors.
    """
    pipe: Any = nlp.get_pipe(name)
    for _ in run_upstream(nlp, name, docs):
        pass
    tokens = pipe.encode(docs)
    for doc in docs:
        forget_tensors(doc)
    return tokens


def copy_transformer(nlp: Language, name: str) -> dict[str, Any]:
    """Copy a recogniser together with the transformer that it listens to.

    nlp (Language): The pipeline, which isn't changed.
    name (str): The recogniser.
    RETURNS (Dict[str, Any]): The two copies by name.
    """
    pipe: Any = nlp.get_pipe(name)
    listeners = get_listeners(pipe.model)
    upstream: Any
    for upstream_name, upstream in nlp.pipeline:
        heard = getattr(upstream, "listener_map", {}).get(name, [])
        network = get_network(upstream.model) if heard else None
        if network is not None and get_layers(network) and len(listeners) == 1:
            copies: dict[str, Any] = deepcopy(
                {upstream_name: upstream, name: pipe}, {id(nlp.vocab): nlp.vocab}
            )
            # Listeners of other components don't belong to the copy.
            own = get_listeners(copies[name].model)
            copies[upstream_name].listener_map = {name: own}
            return copies
    raise ValueError(Errors.EP026.format(name=name))


@contextmanager
def encoding(
    nlp: Language,
    name: str,
    docs: list[Doc],
    tokens: TokenVectors,
    settings: AdaptSettings,
) -> Iterator[Encode]:
    """Provide token vectors for fine-tuning.

    nlp (Language): The pipeline.
    name (str): The recogniser.
    docs (List[Doc]): The support set.
    tokens (TokenVectors): Its token vectors, which are used again and again unless
        layers of the encoder are trained.
    settings (AdaptSettings): Whether they are.
    YIELDS (Encode): Gives the token vectors.
    """
    if not settings.encoder_layers:
        yield lambda: (tokens, lambda d_tokens: None)
        return
    pipe: Any = nlp.get_pipe(name)
    transformer: Any
    (transformer,) = (
        p for _, p in nlp.pipeline if name in getattr(p, "listener_map", {})
    )
    examples = [Example(doc, doc) for doc in docs]
    optimizer = Adam(settings.encoder_lr, L2=0.0, grad_clip=1.0)

    def encode():
        transformer.update(examples, drop=settings.dropout, sgd=optimizer)
        return pipe.model.get_ref("encoder").begin_update(docs)

    with training_top_layers(transformer.model, settings.encoder_layers):
        try:
            yield encode
        finally:
            for listener in get_listeners(pipe.model):
                listener.receive(None, None, None)  # type: ignore[attr-defined]
