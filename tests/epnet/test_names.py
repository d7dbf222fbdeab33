"""Types by their names: where a source learns that they lie, and new ones begin."""

import numpy
import pytest
import spacy
import torch
from spacy.tokens import Span
from spacy.training import Example
from spacy.util import fix_random_seed, load_model_from_config

import spacy_epnet
from spacy_epnet.epnet.losses import get_names_loss, narrow
from spacy_epnet.epnet.model import get_head_network, map_names
from spacy_epnet.epnet.names import make_encode_names
from spacy_epnet.errors import EPNetError
from spacy_epnet.recognizer.pipeline import find_recognizer

from ..conftest import SMALL_TOK2VEC, get_ents, train

# The encoder is a random one, to which only what it was taught means anything.
NAMES = {
    "PERSON": ["person", "human being", "who: a human being"],
    "PLACE": ["place", "town", "where: a town or place"],
}
RNG = numpy.random.default_rng(0)
TEXTS = ["Ada lives in Ulm .", "In Rio we met Otto yesterday ."]


@pytest.fixture(scope="module")
def _named_bytes(make_nlp, references):
    fix_random_seed(0)
    nlp = make_nlp(model__names=True, none_samples=100, narrow_share=0.0)
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in references]
    nlp.initialize(lambda: examples)
    nlp.get_pipe("epnet_ner").learned["names"] = dict(NAMES)
    encode = make_encode_names(1)
    optimizer = nlp.resume_training()
    optimizer.learn_rate = 0.01
    for step in range(150):
        encode(nlp, {"step": step})
        nlp.update(examples, sgd=optimizer)
    return nlp.config, nlp.to_bytes()


@pytest.fixture
def named(_named_bytes):
    """A pipeline that has learned by heart what it was shown, and the names of it."""
    config, data = _named_bytes
    return load_model_from_config(config.copy(), auto_fill=True).from_bytes(data)


def test_spans_are_also_measured_to_where_types_lie_by_their_names(make_nlp, examples):
    nlp = make_nlp(model__names=True)
    nlp.initialize(lambda: examples)
    network = get_head_network(nlp.get_pipe("epnet_ner").model.get_ref("head")).eval()
    tokens = torch.randn(6, network.projection[0].in_features - 25)
    args = torch.tensor([0, 2]), torch.tensor([1, 3]), torch.tensor([0, 1, 2])
    vectors = torch.randn(2, tokens.shape[1])
    plain, _ = network(tokens, *args)
    distances, prototypes, named = network(tokens, *args, vectors)
    assert torch.equal(distances, plain)
    assert torch.allclose(named[:, 0], plain[:, 0])
    named[:, 1:].sum().backward()
    assert all(weight.grad.abs().sum() for weight in network.name_map.parameters())
    assert not prototypes.grad.any()
    with torch.no_grad():
        network.prototypes[1:3] = network.map_names(vectors)
    assert torch.allclose(network(tokens, *args)[0], named, atol=1e-5)


def test_one_of_the_names_of_each_type_is_drawn_and_encoded(named):
    pipe = named.get_pipe("epnet_ner")
    encode_names = find_recognizer(named).encode_names
    encode = make_encode_names(5)
    expected = {
        label: {tuple(encode_names([name])[0].round(4)) for name in names}
        for label, names in NAMES.items()
    }
    found = {label: set() for label in NAMES}
    for step in range(0, 100, 5):
        encode(named, {"step": step})
        for label, vector in pipe.training_names.items():
            found[label].add(tuple(vector.round(4)))
        encode(named, {"step": step + 1})
        assert tuple(pipe.training_names["PLACE"].round(4)) == tuple(vector.round(4))
    assert found == expected


def test_a_loss_of_names_counts_for_its_weight():
    distances = RNG.random((6, 3), dtype="f")
    targets = numpy.asarray([0, 1, 2] * 2, dtype="i")
    whole, gradient = get_names_loss(
        distances, targets, None, weight=1.0, narrow_share=0.0
    )
    half, d_half = get_names_loss(distances, targets, None, weight=0.5, narrow_share=0)
    assert whole > 0
    assert whole == pytest.approx(2 * half)
    assert numpy.allclose(gradient, 2 * d_half)
    found = {
        get_names_loss(distances, targets, None, weight=1.0, narrow_share=0.5)[0]
        for _ in range(30)
    }
    assert whole in found
    assert len(found) > 1


def test_entities_of_types_that_are_left_out_are_none():
    scopes = numpy.ones((200, 5), dtype=bool)
    scopes[:, 4] = False
    targets = numpy.tile(numpy.arange(4, dtype="i"), 50)
    seen = set()
    for _ in range(20):
        changed, narrowed = narrow(targets, scopes, 5)
        kept = [column for column in range(5) if narrowed[:, column].all()]
        seen.add(len(kept))
        assert 0 in kept
        assert 4 not in kept
        assert {*changed.tolist()} == {0, *kept}
        assert (changed == numpy.where(numpy.isin(targets, kept), targets, 0)).all()
    assert len(seen) > 2
    _, every = narrow(targets, None, 4)
    assert every.shape == (200, 4)


def test_a_source_learns_from_texts_and_names(named, references):
    nlp = named
    for doc in references:
        assert get_ents(nlp(doc.text)) == get_ents(doc)
    assert nlp.get_pipe("epnet_ner").learned["names"] == NAMES
    # Its prototypes lie where their names say.
    pipeline = find_recognizer(nlp)
    head = pipeline.recognizer.model.get_ref("head")
    points = map_names(head, pipeline.encode_names(["person", "place"]))
    own = get_head_network(head).prototypes.detach().numpy()[1:3]
    distances = ((points[:, None] - own[None]) ** 2).sum(axis=-1)
    assert distances.argmin(axis=1).tolist() == [0, 1]


def test_types_are_learned_from_their_names_alone(named):
    report = spacy_epnet.adapt(named, labels=["human being", "town"])
    found = [[(e.text, e.label_) for e in doc.ents] for doc in report.nlp.pipe(TEXTS)]
    assert found == [
        [("Ada", "human being"), ("Ulm", "town")],
        [("Rio", "town"), ("Otto", "human being")],
    ]
    assert report.counts == {"human being": 0, "town": 0}
    assert report.learning.tuning.steps == 0
    assert "no examples" in report.learning.summary
    assert report.problems == []
    described = {"WHO": "a human being", "WHERE": "a town or place"}
    nlp = spacy_epnet.adapt(named, labels=described).nlp
    assert [ent.label_ for ent in nlp(TEXTS[0]).ents] == ["WHO", "WHERE"]


def test_some_types_can_have_examples_and_others_only_names(named):
    support = [("Ada lives in Ulm .", [(0, 3, "PILOT")])]
    report = spacy_epnet.adapt(named, support, labels=["place"])
    assert report.counts == {"PILOT": 1, "place": 0}
    assert report.nlp.get_pipe("epnet_ner").labels == ("PILOT", "place")
    assert ("Ulm", "place") in [(e.text, e.label_) for e in report.nlp(TEXTS[0]).ents]
    joined = spacy_epnet.adapt(named, labels=["river"], extend=True).nlp
    assert joined.get_pipe("epnet_ner").labels == ("PERSON", "PLACE", "river")


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["town", ""], "can't take ''"),
        (["town", "Town"], "town: it is the same in words as Town"),
        ({"TOWN": "word " * 2000}, "in 500 characters"),
        ({"TOWN": 7}, "in 500 characters"),
        ("extend", "pass extend=True"),
        (5, "pass extend=True"),
        ([], "no texts in it"),
    ],
)
def test_names_that_say_nothing(named, labels, words):
    with pytest.raises(EPNetError, match=words):
        spacy_epnet.adapt(named, labels=labels)


def test_the_same_name_in_words_is_fine_where_examples_tell_types_apart(named):
    labels = {"town": "a place", "Town": "a person"}
    nlp = spacy_epnet.adapt(named, labels=labels).nlp
    assert [ent.label_ for ent in nlp(TEXTS[0]).ents] == ["Town", "town"]


def test_labels_can_change_before_more_training(named, examples):
    pipe = named.get_pipe("epnet_ner")
    pipe.rename_label("PERSON", "HUMAN")
    assert pipe.learned["names"]["HUMAN"] == NAMES["PERSON"]
    pipe.remove_label("PLACE")
    renamed = []
    for eg in examples:
        doc = eg.reference.copy()
        ents = [ent for ent in eg.reference.ents if ent.label_ == "PERSON"]
        doc.set_ents([Span(doc, ent.start, ent.end, "HUMAN") for ent in ents])
        renamed.append(Example(eg.predicted, doc))
    encode = make_encode_names(1)
    encode(named, {"step": 7})
    assert [*pipe.training_names] == ["HUMAN"]
    train(named, renamed, steps=2)


def test_adapted_pipelines_are_saved_with_what_they_know_of_names(named, tmp_path):
    first = spacy_epnet.adapt(named, labels=["town"]).nlp
    first.to_disk(tmp_path / "first")
    first = spacy.load(tmp_path / "first")
    second = spacy_epnet.adapt(
        first, labels=["human being"], extend=True, in_place=True
    )
    assert second.nlp is first
    found = [(ent.text, ent.label_) for ent in first(TEXTS[0]).ents]
    assert found == [("Ada", "human being"), ("Ulm", "town")]


def test_settings_by_which_names_say_nothing_need_examples(named, trained):
    for nlp, settings in (
        (named, {"profile": "paper"}),
        (trained, {"assignment": {"name_weight": 0.0}}),
    ):
        with pytest.raises(EPNetError, match="no examples of town"):
            spacy_epnet.adapt(nlp, labels=["town"], **settings)


def test_a_map_that_was_not_trained_is_not_used(make_nlp, examples):
    nlp = make_nlp(model__names=True)
    nlp.initialize(lambda: examples)
    train(nlp, examples, steps=2)
    learning = spacy_epnet.adapt(nlp, labels=["person"]).learning
    assert {*learning.assignments["person"].origins} == {"PERSON", "PLACE"}


def test_names_for_a_model_that_takes_none_are_refused(make_nlp, examples):
    with pytest.raises(EPNetError, match="names = true"):
        make_nlp().get_pipe("epnet_ner").initialize(lambda: examples, names=NAMES)
    with pytest.raises(EPNetError, match="as lists"):
        make_nlp(model__names=True).get_pipe("epnet_ner").initialize(
            lambda: examples, names={"PERSON": "person"}
        )
    nlp = make_nlp()
    nlp.initialize(lambda: examples)
    with pytest.raises(EPNetError, match=r"names = true.*or remove encode_names"):
        make_encode_names()(nlp, {"step": 0})


def test_without_a_map_new_types_are_mixtures_of_those_with_similar_names(trained):
    report = spacy_epnet.adapt(trained, labels=["a person"])
    (shares,) = [each.origins for each in report.learning.assignments.values()]
    assert {*shares} == {"PERSON", "PLACE"}
    assert shares["PERSON"] > 0.9
    assert [ent.text for ent in report.nlp(TEXTS[0]).ents] == ["Ada"]


def test_a_recognizer_that_knows_no_names_says_so():
    nlp = spacy.blank("en")
    nlp.add_pipe("nnshot_ner", config={"model": {"tok2vec": SMALL_TOK2VEC}})
    with pytest.raises(EPNetError, match=r"town.*no examples.*from its name"):
        spacy_epnet.adapt(nlp, labels=["town"])
