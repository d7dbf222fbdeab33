"""Measure recognition."""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import cycle, islice
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc

from .contestants import count_entities, make_long_text, make_pipeline, train_briefly
from .measuring import compare, judge, show, take_turns
from .setup import Setup, Table

ALONE = "transformer"
CONTESTANTS: dict[str, dict[str, Any]] = {
    "transformer": {"recognizer": None},
    "epnet_ner": {"recognizer": "epnet_ner"},
    "ner": {"recognizer": "ner"},
    "spancat": {"recognizer": "spancat_singlelabel"},
    "stock transformer": {"recognizer": None, "drive": "stock"},
    "stock epnet_ner": {"recognizer": "epnet_ner", "drive": "stock"},
    "stock ner": {"recognizer": "ner", "drive": "stock"},
}
# Those with a goal. The others are for the main encoder only, which is quick.
RACE = ("transformer", "epnet_ner", "spancat", "stock ner")
# By how many times epnet_ner is to be as fast, by size of the encoder's vectors.
GOALS = {
    384: {"transformer": 0.80, "spancat": 1.5, "stock ner": 1.3},
    768: {"transformer": 0.94, "spancat": 1.5, "stock ner": 1.1},
}
BLOCK = 256  # sentences, a batch as our config has it
LONG = 10_000  # tokens
TYPES = (5, 50, 500)


def measure_recognition(setup: Setup) -> Iterator[Table]:
    """Compare the recognizers, with each encoder on each kind of text."""
    train = setup.read("fewnerd_inter/train.txt", limit=300)
    for encoder, path in setup.encoders.items():
        is_main = encoder == setup.encoder[0]
        names = [name for name in CONTESTANTS if is_main or name in RACE]
        nlps = {}
        for i, name in enumerate(names, 1):
            nlp = make_pipeline(path, **CONTESTANTS[name])
            nlps[name] = train_briefly(nlp, train)
            recognize(nlp, [sentence.words for sentence in train])  # warms up
            setup.report_progress(f"{encoder}, preparing", len(names))(i)
        for corpus, blocks in get_blocks(setup).items():
            on_block = setup.report_progress(f"{encoder}, {corpus}", len(blocks))
            yield measure_texts(
                f"recognition, {encoder}, {corpus}", nlps, blocks, on_block
            )
        if is_main:
            yield measure_types(setup, encoder, nlps["epnet_ner"])


def get_blocks(setup: Setup) -> dict[str, list[list[list[str]]]]:
    """List the words of the texts in each block."""
    blocks = {}
    for corpus in ("wnut17", "fewnerd_inter"):
        limit = 512 if setup.quick else 2000
        sentences = setup.read(f"{corpus}/test.txt")
        # A small corpus is read again from its beginning.
        words = [sentence.words for sentence in islice(cycle(sentences), limit)]
        blocks[corpus] = [words[i : i + BLOCK] for i in range(0, len(words), BLOCK)]
    sentences = setup.read("fewnerd_inter/test.txt")
    tokens = make_long_text(sentences, LONG * (2 if setup.quick else 3))
    blocks["long docs"] = [[tokens[i : i + LONG]] for i in range(0, len(tokens), LONG)]
    return blocks


def recognize(nlp: Language, texts: list[list[str]]) -> int:
    """Run a pipeline over texts that are split into words already."""
    return count_entities(nlp, (Doc(nlp.vocab, words=words) for words in texts))


def measure_texts(
    title: str,
    nlps: dict[str, Language],
    blocks: list[list[list[str]]],
    on_block: Callable[[int], object],
) -> Table:
    """Compare all pipelines on the same texts."""
    # A recognizer that finds nothing would have little to do.
    found: Counter[str] = Counter()

    def run(name: str, texts: list[list[str]]) -> None:
        found[name] += recognize(nlps[name], texts)

    contestants = {name: partial(run, name) for name in nlps}
    seconds = take_turns(contestants, blocks, on_block=on_block)
    size = nlps[ALONE].get_pipe(ALONE).model.get_dim("nO")  # type: ignore[attr-defined]
    words = sum(len(text) for block in blocks for text in block)
    return make_table(title, size, words, seconds, found)


def make_table(
    title: str,
    size: int,
    words: int,
    seconds: dict[str, list[float]],
    found: Counter[str],
) -> Table:
    """Compare all with the transformer alone, and epnet_ner with all."""
    rows, results = [], {}
    goals = GOALS.get(size, {})
    for name, values in seconds.items():
        stock = f"stock {ALONE}"
        alone = stock if name.startswith("stock") and stock in seconds else ALONE
        result = {
            "words_per_second": words / sum(values),
            "seconds": values,
            "entities": found[name],
            "against_transformer": compare(values, seconds[alone]),
            "epnet_ner_against": compare(seconds["epnet_ner"], values),
        }
        results[name] = result
        goal = goals.get(name)
        ratio = result["epnet_ner_against"]["ratio"]
        rows.append(
            [
                name,
                f"{result['words_per_second']:.0f}",
                show(result["against_transformer"]),
                show(result["epnet_ner_against"]),
                "" if goal is None else judge(ratio, least=goal),
            ]
        )
    header = ["", "words/s", "x transformer alone", "epnet_ner x this", "goal"]
    return Table(title, header, rows, results)


def measure_types(setup: Setup, encoder: str, nlp: Language) -> Table:
    """See what the number of types costs."""
    pipe: Any = nlp.get_pipe("epnet_ner")
    trained = list(pipe.labels)
    sentences = setup.read("fewnerd_inter/test.txt", limit=512 if setup.quick else 1536)
    words = [sentence.words for sentence in sentences]
    size = BLOCK // 2
    blocks = [words[i : i + size] for i in range(0, len(words), size)]

    def with_types(count: int) -> Callable[[list[list[str]]], int]:
        others = [f"type {i}" for i in range(len(trained), count)]

        def run(texts: list[list[str]]) -> int:
            pipe.set_labels([*trained[:count], *others])
            return recognize(nlp, texts)

        return run

    seconds = take_turns(
        {f"{count} types": with_types(count) for count in TYPES},
        blocks,
        on_block=setup.report_progress(f"{encoder}, types", len(blocks)),
    )
    pipe.set_labels(trained)
    first = seconds[f"{TYPES[0]} types"]
    rows, results = [], {}
    for name, values in seconds.items():
        slower = compare(first, values)
        results[name] = {"seconds": values, "times_as_long_as_5": slower}
        goal = judge(slower["ratio"], most=1.1) if name == "50 types" else ""
        rows.append([name, show(slower), goal])
    header = ["", "x the time of 5 types", "goal"]
    return Table(f"number of types, {encoder}", header, rows, results)
