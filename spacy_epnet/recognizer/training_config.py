"""What the config of a pipeline says of the corpora that it is trained on."""

import re
from typing import Any

from spacy.language import Language
from thinc.api import Config

from .base import FewShotRecognizer

# As in a new config: none until they are given, by --paths.train and --paths.dev.
SPLITS = ("train", "dev")
READER = {"@readers": "spacy-epnet.Corpus.v1", "limit": 0, "augmenter": None}
# Sections that spaCy reads. What a config has besides them is for its variables.
SECTIONS = {"nlp", "components", "training", "pretraining", "initialize", "system"}
# What only the training has: its corpora, and the pipeline that it continued from.
OF_TRAINING = ("corpora.", "paths.source")
VARIABLE = re.compile(r"\$\{([\w.]+)\}")


def without_corpora(nlp: Language) -> Config:
    """Copy the config of a pipeline, but for the corpora of its training, which others
    don't have. The types that it knows take the place of theirs.
    """
    config = nlp.config.copy()
    before = find_variables(config)
    config["corpora"] = {
        split: {**READER, "path": f"${{paths.{split}}}"} for split in SPLITS
    }
    config["training"] |= {f"{split}_corpus": f"corpora.{split}" for split in SPLITS}
    config["pretraining"] = {}
    for section in ("training", "initialize"):
        drop_references(config[section])
    for name, pipe in nlp.components:
        if isinstance(pipe, FewShotRecognizer):
            set_labels(config["initialize"]["components"], name, pipe.label_data)
    for variable in before - find_variables(config):
        section, _, key = variable.partition(".")
        if section not in SECTIONS:
            config.get(section, {}).pop(key, None)
            if not config.get(section):
                config.pop(section, None)
    config.setdefault("paths", {}).update(dict.fromkeys(SPLITS))
    return config


def find_variables(block: Any) -> set[str]:
    """Find the variables in a block of a config, such as "paths.train"."""
    return set(VARIABLE.findall(str(block)))


def drop_references(block: dict[str, Any]) -> None:
    """Let nothing in a block of a config refer to a training, as callbacks may."""
    for key, value in block.items():
        if isinstance(value, dict) and not any(name.startswith("@") for name in value):
            drop_references(value)
        elif any(name.startswith(OF_TRAINING) for name in find_variables(value)):
            block[key] = None


def set_labels(blocks: dict[str, Any], name: str, labels: Any) -> None:
    """Set the labels that a component is initialized with. If they have what means
    something else in a config, they are those of the examples.
    """
    block = blocks.setdefault(name, {})
    block.pop("labels", None)
    names = "".join(labels if isinstance(labels, dict) else ())
    if "$" not in str(labels) and re.fullmatch(r"[\w-]*", names):
        block["labels"] = labels
