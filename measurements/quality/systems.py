"""Define the systems that are compared, and train each on a source domain."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import spacy
from spacy.language import Language
from spacy.util import load_config

from spacy_epnet.corpora.type_names import read_type_names
from spacy_epnet.evaluation.benchmark import Benchmark, Profile, Target
from spacy_epnet.recognizer.pipeline import find_recognizer
from spacy_epnet.training.config import make_training_config

from .finetuning import FineTuning
from .sources import limit_steps, train_source
from .span_marker import SpanMarkerTuning

CONFIGS = Path(__file__).parents[2] / "configs"
TRAINED_LAYERS = "--components.transformer.model.trained_layers"
# The groups of the tables.
PUBLISHED, ABLATION, NAMED, INSTEAD = "published", "ablation", "named", "instead"
# What it takes to train on the names and descriptions of Few-NERD's types.
NAMES = {
    "--components.epnet_ner.model.names": "true",
    "--training.before_update": '{"@callbacks": "spacy-epnet.encode_names.v1"}',
    "--initialize.components": '{"epnet_ner": {"names": {"@readers": '
    '"spacy-epnet.TypeNames.v1", "corpus": "fewnerd"}}}',
}


@dataclass(frozen=True)
class System:
    """One row of the tables.

    name (str): What it is called.
    source (str): The source that it needs, see `SOURCES`.
    group (str): The table that it belongs to.
    profile (str): How it is adapted.
    changes (Mapping[str, Any]): Settings of that which differ.
    turn (Callable[[Language], Language]): What makes it of the source.
    kind (Callable[..., Benchmark]): What measures it.
    """

    name: str
    source: str
    group: str = PUBLISHED
    profile: str = "default"
    changes: Mapping[str, Any] = field(default_factory=dict)
    turn: Callable[[Language], Language] = lambda nlp: nlp
    kind: Callable[..., Benchmark] = Benchmark

    def make_benchmark(
        self, folder: Path, targets: list[Target], shots: list[int], seeds: list[int]
    ) -> Benchmark:
        """Make what measures it, from the source in a folder."""
        nlp = self.turn(spacy.load(folder / self.source / "model-best"))
        profiles = {self.profile: Profile(self.profile, dict(self.changes))}
        return self.kind(nlp, targets, profiles, shots, seeds)


def turn_to_nnshot(nlp: Language) -> Language:
    """Make NNShot of StructShot, whose training is the same."""
    source = find_recognizer(nlp)
    name, trained = source.name, source.recognizer
    config = dict(nlp.get_pipe_config(name))
    for setting in ("factory", "transfer", "temperature"):
        del config[setting]
    nlp.replace_pipe(name, "nnshot_ner", config=config)
    pipe = find_recognizer(nlp).recognizer
    pipe.model.from_bytes(trained.model.to_bytes())
    pipe.learned = {k: v for k, v in trained.learned.items() if k != "transitions"}
    return nlp


def describe_types(corpus: str) -> dict[str, str]:
    """Return what the types of a corpus are in words."""
    types = read_type_names().values()
    return {each.type: each.description for each in types if each.corpus == corpus}


def tune(rival: Any) -> Callable[..., Benchmark]:
    """Make a benchmark of a recognizer of spaCy's, fine-tuned."""
    return lambda *args: FineTuning(*args, rival=rival)


# The recognizer of each source, or a config, and the settings that differ.
SOURCES: dict[str, tuple[str, dict[str, str]]] = {
    "epnet": ("epnet_ner", {}),
    # Nothing of the encoder is held fixed in the paper's trainings.
    "paper": ("paper.cfg", {TRAINED_LAYERS: "null"}),
    "protonet": ("protonet_ner", {}),
    "protonet_pd": ("protonet_pd_ner", {}),
    "structshot": ("structshot_ner", {}),
    "container": ("container_ner", {}),
    "esd": ("esd_ner", {}),
    "cpnet": ("cpnet_ner", {}),
    "tokens": ("epnet_tokens_ner", {}),
    "undispersed": (
        "epnet_ner",
        {"--components.epnet_ner.dispersion_loss": "false"},
    ),
    "cosine": ("epnet_ner", {"--components.epnet_ner.model.similarity": "cosine"}),
    "named": ("epnet_ner", NAMES),
}

SYSTEMS = [
    System("EP-Net", "epnet"),
    System("EP-Net as printed", "paper", profile="paper"),
    System("ProtoNet", "protonet"),
    System("ProtoNet+P&D", "protonet_pd"),
    System("NNShot", "structshot", turn=turn_to_nnshot),
    System("StructShot", "structshot"),
    System("CONTaiNER", "container"),
    System("ESD", "esd"),
    System("CP-Net", "cpnet"),
    System("token-level prototypes", "tokens", ABLATION),
    System(
        "no dispersion", "undispersed", ABLATION, changes={"dispersion_loss": False}
    ),
    System("cosine similarity", "cosine", ABLATION),
    System("names trained", "named", NAMED),
    System(
        "names trained, types described",
        "named",
        NAMED,
        kind=partial(Benchmark, texts=describe_types("fewnerd")),
    ),
    System("spaCy's ner", "epnet", INSTEAD, kind=tune("ner")),
    System("spaCy's spancat", "epnet", INSTEAD, kind=tune("spancat_singlelabel")),
]
if find_spec("span_marker") is not None:
    SYSTEMS.append(System("SpanMarker", "epnet", INSTEAD, kind=SpanMarkerTuning))


def get_config(name: str, folder: Path) -> Path:
    """Return a source's config. That of a recognizer is written into the folder."""
    config, _ = SOURCES[name]
    if config.endswith(".cfg"):
        return CONFIGS / config
    path = folder / f"{name}.cfg"
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(make_training_config(config), encoding="utf8")
    return path


def train(
    name: str, folder: Path, settings: Mapping[str, str], share: float = 1.0
) -> None:
    """Train a source for a share of its config's steps, or go on with it. The settings,
    such as "--paths.train", are those of all.
    """
    _, own = SOURCES[name]
    path = get_config(name, folder)
    if share != 1:
        steps = load_config(path)["training"]["max_steps"]
        settings = {**settings, **limit_steps(max(1, round(share * steps)))}
    train_source(path, folder / name, {**settings, **own})
