"""Measure training on a source domain."""

from functools import partial
from typing import Any

from spacy.language import Language
from spacy.training import Example
from spacy.training.batchers import minibatch_by_padded_size
from thinc.api import Adam

from spacy_epnet.encoder.optimizer import make_adam

from .contestants import make_examples, make_pipeline
from .measuring import compare, judge, show, take_turns
from .setup import Setup, Table

# `ner` and `spancat` with spaCy's own transformer and optimizer, ours as our config
# has them.
CONTESTANTS: dict[str, dict[str, Any]] = {
    "epnet_ner": {"recognizer": "epnet_ner"},
    "epnet_ner, full precision": {"recognizer": "epnet_ner", "mixed_precision": False},
    "ner": {"recognizer": "ner", "drive": "stock"},
    "spancat": {"recognizer": "spancat_singlelabel", "drive": "stock"},
}
PADDED, BUFFER = 512, 256  # as configs/source.cfg batches
WARM_UP = 2  # batches
OPTIMIZER: dict[str, Any] = {"L2": 0.01, "grad_clip": 1.0, "use_averages": False}


def measure_training(setup: Setup) -> list[Table]:
    """Train each on the same batches, in turns."""
    tables = []
    for encoder, path in setup.encoders.items():
        sentences = setup.read("fewnerd_inter/train.txt", limit=600)
        batches = batch(sentences)[: 8 if setup.quick else 20]
        updates = {}
        for name, settings in CONTESTANTS.items():
            nlp = make_pipeline(path, **settings)
            examples = make_examples(nlp.vocab, sentences)
            nlp.initialize(partial(list, examples))
            make_optimizer = Adam if settings.get("drive") == "stock" else make_adam
            optimizer = make_optimizer(5e-5, **OPTIMIZER)
            updates[name] = partial(update, nlp, examples, optimizer)
            for indices in batches[:WARM_UP]:
                updates[name](indices)
        seconds = take_turns(
            updates,
            batches,
            on_block=setup.report_progress(f"training, {encoder}", len(batches)),
        )
        words = sum(len(sentences[i].words) for indices in batches for i in indices)
        tables.append(make_table(encoder, seconds, words))
    return tables


def batch(sentences: list) -> list[list[int]]:
    """Part the sentences into batches as our config does."""
    # The batcher takes sequences only, each of which says here which one it is.
    sequences = [[i] * len(sentence.words) for i, sentence in enumerate(sentences)]
    batches = minibatch_by_padded_size(
        sequences, size=PADDED, buffer=BUFFER, get_length=len
    )
    return [[sequence[0] for sequence in part] for part in batches]


def update(
    nlp: Language, examples: list[Example], optimizer: Any, indices: list[int]
) -> None:
    """Train a pipeline on some of its examples."""
    nlp.update([examples[i] for i in indices], drop=0.1, sgd=optimizer)


def make_table(encoder: str, seconds: dict[str, list[float]], words: int) -> Table:
    """Compare all with `ner`."""
    rows, results = [], {}
    for name, values in seconds.items():
        faster = compare(values, seconds["ner"])
        speed = words / sum(values)
        results[name] = {
            "words_per_second": speed,
            "seconds": values,
            "against_ner": faster,
        }
        goal = judge(faster["ratio"], least=1.2) if name == "epnet_ner" else ""
        rows.append([name, f"{speed:.0f}", show(faster), goal])
    header = ["", "words/s", "x ner", "goal"]
    return Table(f"source training, {encoder}", header, rows, results)
