"""Support sets and test texts on which versions are compared."""

from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import srsly

from spacy_epnet.corpora.sampling import sample_greedily

from ..speed.contestants import read_sentences

DEMO = Path(__file__).parents[2] / "assets" / "demo"
TOY = Path(__file__).parents[2] / "assets" / "toy" / "source-train.iob"
TARGETS = ("wnut17", "crossner_politics")
SHOTS = (1, 5)

Text = dict[str, Any]  # as probe.py reads it


class Target(NamedTuple):
    """Texts of a corpus, with their entities.

    dev (List[Text]): Those that support sets are drawn from.
    test (List[Text]): Those that are recognized.
    """

    dev: list[Text]
    test: list[Text]

    def draw(self, shots: int, seed: int) -> list[Text]:
        """Draw a support set."""
        mentions = [
            Counter(label for _, _, label in text["entities"]) for text in self.dev
        ]
        return [self.dev[i] for i in sample_greedily(mentions, shots, seed)]


def read_target(name: str, corpora: Path, limit: int) -> Target:
    """Read "demo" or a folder of the corpora, with so many test texts at most."""
    if name == "demo":
        dev, test = DEMO / "dev.jsonl", DEMO / "test.jsonl"
        return Target(read_marked(dev), read_marked(test)[:limit])
    dev, test = corpora / name / "dev.txt", corpora / name / "test.txt"
    return Target(read_columns(dev), read_columns(test)[:limit])


def read_marked(path: Path) -> list[Text]:
    """Read texts whose entities are marked by characters."""
    return [
        {
            "text": line["text"],
            "entities": [
                (span["start"], span["end"], span["label"]) for span in line["spans"]
            ],
        }
        for line in srsly.read_jsonl(path)
    ]


def read_columns(path: Path) -> list[Text]:
    """Read sentences in words."""
    return [
        {"words": sentence.words, "entities": list(sentence.entities)}
        for sentence in read_sentences(path)
    ]
