"""Measure the memory of recognition, each time in a process of its own.

    python -m measurements.speed.memory PIPELINE TEXTS COMPONENTS

is what such a process runs.
"""

from itertools import islice
from pathlib import Path

import spacy
import srsly
import typer
from spacy.tokens import Doc

from .contestants import make_long_text, make_pipeline, train_briefly
from .measuring import forget_own_peak, judge, read_own_peak, run_apart
from .setup import Setup, Table

LENGTHS = (1_000, 10_000, 100_000)
COUNTS = (10_000, 100_000)
SHORT = 4  # tokens
MOST = 300  # MB that the head may add
MODULE = "measurements.speed.memory"
APART = "head afterwards"
FEW = 1_000  # docs that are kept with what the transformer left in them


def measure_memory(setup: Setup) -> list[Table]:
    """See what the head adds to the transformer's peak."""
    encoder, path = setup.encoder
    train = setup.read("fewnerd_inter/train.txt", limit=300)
    pipeline = setup.folder / "memory"
    train_briefly(make_pipeline(path, "epnet_ner"), train).to_disk(pipeline)
    sentences = setup.read("fewnerd_inter/test.txt")
    texts: dict[str, list[list[str]]] = {}
    for length in LENGTHS[:2] if setup.quick else LENGTHS:
        texts[f"1 doc of {length} tokens"] = [make_long_text(sentences, length)]
    for count in (2_000,) if setup.quick else COUNTS:
        words = make_long_text(sentences, count * SHORT)
        short = [words[i : i + SHORT] for i in range(0, len(words), SHORT)]
        texts[f"{count} docs of {SHORT} tokens"] = short
    rows, results = [], {}
    for i, (name, words) in enumerate(texts.items()):
        file = setup.folder / f"texts-{i}.jsonl"
        srsly.write_jsonl(file, words)
        alone, both, apart = (
            float(run_apart(MODULE, str(pipeline), str(file), components))
            for components in ("transformer", "transformer,epnet_ner", APART)
        )
        added = max(both - alone, apart)
        results[name] = {"transformer": alone, "with_head": both, "head_apart": apart}
        megabytes = [f"{value:.0f}" for value in (alone, both, both - alone, apart)]
        rows.append([name, *megabytes, judge(added, most=MOST)])
        setup.report_progress("memory", len(texts))(i + 1)
    header = ["", "transformer, MB", "with the head, MB", "added, MB"]
    header += ["head run afterwards, MB", "goal"]
    return [Table(f"peak memory, {encoder}", header, rows, results)]


def main(pipeline: str, texts: Path, components: str) -> None:
    """Run some components of a pipeline, and print the peak."""
    nlp = spacy.load(pipeline)
    docs = (Doc(nlp.vocab, words=words) for words in srsly.read_jsonl(texts))
    if components == APART:
        # What the transformer needs on the way could hide what the head needs.
        docs = iter(list(islice(nlp.get_pipe("transformer").pipe(docs), FEW)))  # type: ignore[attr-defined]
        forget_own_peak()
        before = read_own_peak()
        pipes = ["epnet_ner"]
    else:
        forget_own_peak()
        before = 0.0
        pipes = components.split(",")
    for name in pipes:
        docs = nlp.get_pipe(name).pipe(docs, batch_size=nlp.batch_size)  # type: ignore[attr-defined]
    for _ in docs:
        pass
    print(read_own_peak() - before)


if __name__ == "__main__":
    typer.run(main)
