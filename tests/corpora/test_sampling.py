import random
from collections import Counter

import pytest
import srsly
from spacy.tokens import Doc, DocBin, Span
from spacy.vocab import Vocab

from spacy_epnet.corpora.files import get_hash
from spacy_epnet.corpora.sampling import sample_greedily

from ..util.commands import read


def make_mentions(seed):
    """Sentences with few to many entities, of frequent and of rare types."""
    rng = random.Random(seed)
    labels = "AAAAAAAABBBBCCCDDE"
    return [Counter(rng.choices(labels, k=rng.randrange(4))) for _ in range(60)]


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("shots", [1, 5, 50])
def test_every_type_reaches_its_shots_or_all_it_has(seed, shots):
    mentions = make_mentions(seed)
    drawn = sample_greedily(mentions, shots, seed)
    totals = sum(mentions, Counter())
    found = sum((mentions[i] for i in drawn), Counter())
    assert all(found[label] >= min(shots, totals[label]) for label in totals)
    assert len(drawn) == len(set(drawn))
    assert all(mentions[i] for i in drawn)


@pytest.mark.parametrize("seed", range(20))
def test_rare_types_come_first_and_nothing_is_drawn_in_vain(seed):
    mentions = make_mentions(seed)
    shots = 3
    spread = Counter(label for counts in mentions for label in counts)
    order = sorted(spread, key=lambda label: (spread[label], label))
    found = Counter()
    for i in sample_greedily(mentions, shots, seed):
        short = [
            label
            for label in order
            if found[label] < shots
            and found[label] < sum(counts[label] for counts in mentions)
        ]
        assert short[0] in mentions[i]
        found.update(mentions[i])


def test_order_is_by_sentences_and_not_by_mentions():
    mentions = [Counter(A=9), Counter(B=1), Counter(B=1), Counter(A=1, B=1)]
    # A is in two sentences and B in three, although A has more mentions.
    assert all(0 in sample_greedily(mentions, 10, seed)[:2] for seed in range(9))


def test_same_seed_same_sentences_and_others_differ():
    mentions = make_mentions(0)
    sets = [tuple(sample_greedily(mentions, 2, seed)) for seed in range(9)]
    assert sets == [tuple(sample_greedily(mentions, 2, seed)) for seed in range(9)]
    assert len(set(sets)) > 5


@pytest.fixture
def corpus(tmp_path):
    vocab = Vocab()
    docs = []
    for i, counts in enumerate(make_mentions(0)):
        doc = Doc(vocab, words=[f"w{i}", *["x"] * 3])
        labels = list(counts.elements())
        doc.set_ents(
            [Span(doc, j, j + 1, label=label) for j, label in enumerate(labels)]
        )
        docs.append(doc)
    path = tmp_path / "corpus.spacy"
    DocBin(docs=docs).to_disk(path)
    return path


def run(*args, code=0):
    return read("epnet", "sample", *args, code=code)


def test_command_writes_support_and_manifest(corpus, tmp_path):
    output = tmp_path / "support.spacy"
    run(corpus, output, "--shots", 2, "--seed", 7)
    manifest = srsly.read_json(tmp_path / "support.json")
    docs = list(DocBin().from_disk(output).get_docs(Vocab()))
    assert [doc[0].text for doc in docs] == [f"w{i}" for i in manifest["indices"]]
    assert manifest["indices"] == sample_greedily(make_mentions(0), 2, 7)
    counts = Counter(ent.label_ for doc in docs for ent in doc.ents)
    assert manifest["counts"] == dict(counts)
    assert (manifest["shots"], manifest["seed"]) == (2, 7)
    assert len(manifest["corpus_sha256"]) == 64


def test_same_seed_gives_the_same_bytes(corpus, tmp_path):
    for name in ("a", "b"):
        run(corpus, tmp_path / f"{name}.spacy", "--seed", 3)
    assert (tmp_path / "a.spacy").read_bytes() == (tmp_path / "b.spacy").read_bytes()
    assert (tmp_path / "a.json").read_bytes() == (tmp_path / "b.json").read_bytes()


def test_several_sets_from_several_seeds(corpus, tmp_path):
    run(corpus, tmp_path / "s.spacy", "--count", 3, "--seed", 5, "-k", 1)
    names = sorted(path.name for path in tmp_path.glob("s-*.spacy"))
    assert names == ["s-5.spacy", "s-6.spacy", "s-7.spacy"]
    assert srsly.read_json(tmp_path / "s-6.json")["seed"] == 6


@pytest.mark.parametrize("form", ["manifest", "list", "lines"])
def test_given_indices_reproduce_a_set(corpus, tmp_path, form):
    run(corpus, tmp_path / "a.spacy", "--seed", 3)
    indices = srsly.read_json(tmp_path / "a.json")["indices"]
    path = tmp_path / "a.json"
    if form == "list":
        srsly.write_json(path, indices)
    elif form == "lines":
        path.write_text("\n".join(map(str, indices)))
    run(corpus, tmp_path / "b.spacy", "--indices", path)
    assert (tmp_path / "a.spacy").read_bytes() == (tmp_path / "b.spacy").read_bytes()


@pytest.mark.parametrize(
    "content", ["[1, 99]", "[1, 1]", "[-1]", "x y", "{}", "[[1]]", "[0.9]", "[true]"]
)
def test_wrong_indices_are_refused(corpus, tmp_path, content):
    path = tmp_path / "indices.json"
    path.write_text(content)
    assert ":" in run(corpus, tmp_path / "b.spacy", "--indices", path, code=1)
    assert not (tmp_path / "b.spacy").exists()


def test_a_single_index_is_enough(corpus, tmp_path):
    path = tmp_path / "indices.txt"
    path.write_text("7\n")
    run(corpus, tmp_path / "b.spacy", "--indices", path)
    assert srsly.read_json(tmp_path / "b.json")["indices"] == [7]


def test_a_set_and_its_manifest_belong_together(corpus, tmp_path):
    output = tmp_path / "s.spacy"
    for seed in (0, 1):
        run(corpus, output, "--seed", seed)
        manifest = srsly.read_json(tmp_path / "s.json")
        assert manifest["seed"] == seed
        assert manifest["support_sha256"] == get_hash(output)


def test_the_corpus_is_not_written_over(corpus):
    before = corpus.read_bytes()
    assert "used already" in run(corpus, corpus, code=1)
    assert corpus.read_bytes() == before


def test_manifests_of_other_corpora_are_refused(corpus, tmp_path):
    path = tmp_path / "indices.json"
    srsly.write_json(path, {"corpus_sha256": "0" * 64, "indices": [1]})
    assert "another corpus" in run(
        corpus, tmp_path / "b.spacy", "--indices", path, code=1
    )


def test_types_with_too_few_mentions_are_named(corpus, tmp_path):
    output = run(corpus, tmp_path / "s.spacy", "--shots", 40)
    assert "E has only" in output


def test_corpora_without_entities_are_told(tmp_path):
    path = tmp_path / "empty.spacy"
    DocBin(docs=[Doc(Vocab(), words=["a"])]).to_disk(path)
    assert "no entities" in run(path, tmp_path / "s.spacy", code=1)
    assert "no such file" in run(tmp_path / "x.spacy", tmp_path / "s.spacy", code=1)
    path.write_bytes(b"nothing")
    assert "not a DocBin" in run(path, tmp_path / "s.spacy", code=1)
