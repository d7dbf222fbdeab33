import os
import string
from pathlib import Path

if "PYTEST_XDIST_WORKER" in os.environ:
    # Each of several processes has a core. PyTorch reads this when it is imported.
    os.environ.setdefault("OMP_NUM_THREADS", "1")

import hypothesis
import pytest
import spacy
from spacy.tokens import Doc, DocBin
from spacy.training import Example
from spacy.util import fix_random_seed, load_config, load_model_from_config
from spacy.vocab import Vocab

from spacy_epnet.corpora.conversion import convert
from spacy_epnet.encoder.networks import iter_weights
from spacy_epnet.training.config import list_recognizers

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "measurements" / "results"
SOURCE_CONFIG = ROOT / "configs" / "source.cfg"
RECOGNIZERS = list_recognizers()

# Chosen by --hypothesis-profile. The same examples are tried in every run.
for profile, n_examples in {"few": 100, "many": 2000}.items():
    hypothesis.settings.register_profile(
        profile,
        max_examples=n_examples,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=[hypothesis.HealthCheck.too_slow],
    )
hypothesis.settings.load_profile("few")

PEOPLE = ["Ada", "Grace Hopper", "Alan Turing", "Mary Ann Evans", "Otto"]
PLACES = ["Paris", "New York", "Ulm", "Cape Town", "Rio"]
TEMPLATES = [
    ["{PERSON}", "lives in", "{PLACE}", "."],
    ["In", "{PLACE}", "we met", "{PERSON}", "yesterday ."],
    ["{PERSON}", "and", "{PERSON}", "left ."],
    ["Nobody was there ."],
]

# A layer of spaCy's own, for tests that need no transformer.
SMALL_TOK2VEC = {
    "@architectures": "spacy.HashEmbedCNN.v2",
    "width": 16,
    "depth": 1,
    "embed_size": 100,
    "window_size": 1,
    "maxout_pieces": 2,
    "subword_features": True,
    "pretrained_vectors": None,
}


def add_pipe(name):
    nlp = spacy.blank("en")
    return nlp.add_pipe(name, config={"model": {"tok2vec": SMALL_TOK2VEC}})


@pytest.fixture(autouse=True)
def _seed():
    fix_random_seed(0)


@pytest.fixture(scope="session")
def tiny_encoder(tmp_path_factory):
    """A folder with a random BERT of one layer, whose word pieces are letters."""
    from transformers import BertConfig, BertModel, BertTokenizerFast

    fix_random_seed(0)
    folder = tmp_path_factory.mktemp("encoder")
    letters = string.ascii_lowercase + string.digits + string.punctuation
    pieces = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", *letters]
    pieces += [f"##{letter}" for letter in letters]
    (folder / "vocab.txt").write_text("\n".join(pieces), encoding="utf8")
    tokenizer = BertTokenizerFast(str(folder / "vocab.txt"), model_max_length=512)
    tokenizer.save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(pieces),
        hidden_size=32,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=512,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    BertModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="session")
def source_config(tiny_encoder):
    """The shipped config, made small."""
    return load_config(
        SOURCE_CONFIG,
        overrides={
            "paths.encoder": str(tiny_encoder),
            "components.epnet_ner.model.prototype_size": 32,
            "components.epnet_ner.model.n_prototypes": 8,
            "components.epnet_ner.model.learn_rate_scale": 1.0,
            "components.epnet_ner.model.edges": True,
            # What a test learns must not depend on the machine it runs on.
            "components.transformer.model.mixed_precision": False,
            "training.optimizer.@optimizers": "Adam.v1",
        },
        interpolate=True,
    )


@pytest.fixture(scope="session")
def make_nlp(source_config):
    """Make an untrained pipeline from the shipped config with other settings."""

    def make(**settings):
        config = source_config.copy()
        for key, value in settings.items():
            section = config["components"]["epnet_ner"]
            *path, last = key.split("__")
            for part in path:
                section = section[part]
            section[last] = value
        return load_model_from_config(config, auto_fill=True)

    return make


@pytest.fixture
def nlp(make_nlp, examples):
    """An initialized pipeline."""
    nlp = make_nlp()
    nlp.initialize(lambda: examples)
    return nlp


def make_doc(nlp, parts, fillers):
    """Fill a template: "{PERSON}" becomes an entity of that type."""
    words, ents = [], []
    for part in parts:
        label = part.strip("{}") if part.startswith("{") else None
        new = (next(fillers[label]) if label else part).split()
        if label:
            ents.append((len(words), len(words) + len(new), label))
        words += new
    doc = Doc(nlp.vocab, words=words)
    doc.set_ents([doc.char_span(*_chars(doc, ent), label=ent[2]) for ent in ents])
    return doc


def _chars(doc, ent):
    start, end, _ = ent
    return doc[start].idx, doc[end - 1].idx + len(doc[end - 1])


@pytest.fixture(scope="session")
def references():
    """Twenty annotated sentences."""
    nlp = spacy.blank("en")
    fillers = {"PERSON": iter(PEOPLE * 9), "PLACE": iter(PLACES * 9)}
    return [make_doc(nlp, TEMPLATES[i % 4], fillers) for i in range(20)]


@pytest.fixture
def examples(references):
    return [Example(_bare(doc), doc) for doc in references]


def _bare(doc):
    return Doc(doc.vocab, words=[token.text for token in doc])


def train(nlp, examples, steps=100, learn_rate=0.01, **kwargs):
    """Train on the same few examples until the model knows them by heart."""
    optimizer = nlp.resume_training()
    optimizer.learn_rate = learn_rate
    losses = {}
    for _ in range(steps):
        losses = nlp.update(examples, sgd=optimizer, losses={}, **kwargs)
    return losses


def get_weights(nlp):
    return [data for _, pipe in nlp.pipeline for data in iter_weights(pipe.model)]


@pytest.fixture
def short_config(source_config, references, tmp_path):
    """A short training with all that is random: dropout, sampling, shuffling."""
    path = tmp_path / "corpus.spacy"
    DocBin(docs=references).to_disk(path)
    config = source_config.copy()
    for corpus in ("train", "dev"):
        config["corpora"][corpus]["path"] = str(path)
    config["training"] |= {"max_steps": 12, "eval_frequency": 4, "dropout": 0.2}
    config["training"]["batcher"]["size"] = 64
    config["training"]["logger"] = {"@loggers": "spacy.ConsoleLogger.v1"}
    config["training"]["optimizer"]["use_averages"] = False
    config["training"]["optimizer"]["learn_rate"] |= {
        "warmup_steps": 3,
        "total_steps": 12,
        "initial_rate": 0.01,
    }
    return config


@pytest.fixture(scope="session")
def _trained_bytes(source_config, references):
    fix_random_seed(0)
    nlp = load_model_from_config(source_config.copy(), auto_fill=True)
    examples = [Example(_bare(doc), doc) for doc in references]
    nlp.initialize(lambda: examples)
    train(nlp, examples)
    return nlp.config, nlp.to_bytes()


@pytest.fixture
def trained(_trained_bytes):
    """A pipeline that knows the examples."""
    config, data = _trained_bytes
    return load_model_from_config(config.copy(), auto_fill=True).from_bytes(data)


def get_ents(doc):
    return [(ent.start, ent.end, ent.label_) for ent in doc.ents]


@pytest.fixture
def convert_text(tmp_path):
    """Convert a text, and give the docs and the report."""

    def run(content, name="input.txt", **settings):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        data = content if isinstance(content, bytes) else content.encode("utf8")
        path.write_bytes(data)
        output = tmp_path / "out" / "output.spacy"
        report = convert([path], output, **settings)
        docs = DocBin(store_user_data=True).from_disk(output).get_docs(Vocab())
        return list(docs), report

    return run


ROWS = "Ada\tB-PER\nleft\tO\nRio\tB-LOC\n\nAcme\tB-ORG\n"


@pytest.fixture
def input_file(tmp_path):
    path = tmp_path / "input.txt"
    path.write_text(ROWS, encoding="utf8")
    return path
