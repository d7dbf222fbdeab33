"""How much memory recognition takes, each time in a process of its own.

    python -m benchmarks.memory PIPELINE TEXTS COMPONENTS

is what such a process runs.
"""

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
        peaks = {
            components: float(
                run_apart("benchmarks.memory", str(pipeline), str(file), components)
            )
            for components in ("transformer", "transformer,epnet_ner")
        }
        alone, both = peaks.values()
        results[name] = {"transformer": alone, "with_head": both, "added": both - alone}
        added = f"{both - alone:.0f}"
        goal = judge(both - alone, most=MOST)
        rows.append([name, f"{alone:.0f}", f"{both:.0f}", added, goal])
        setup.tell("memory", len(texts))(i + 1)
    header = ["", "transformer, MB", "with the head, MB", "added, MB", "goal"]
    return [Table(f"peak memory, {encoder}", header, rows, results)]


def main(pipeline: str, texts: Path, components: str) -> None:
    """Run some components of a pipeline, and print the peak."""
    nlp = spacy.load(pipeline, enable=components.split(","))
    forget_own_peak()
    docs = (Doc(nlp.vocab, words=words) for words in srsly.read_jsonl(texts))
    for _ in nlp.pipe(docs):
        pass
    print(read_own_peak())


if __name__ == "__main__":
    typer.run(main)
