import numpy
import pytest
import spacy
from spacy.tokens import Doc, Span
from spacy.training import Example

from ..conftest import get_ents, train


def test_factory_works_without_importing_anything():
    nlp = spacy.blank("en")
    pipe = nlp.add_pipe("epnet_ner")
    assert pipe.labels == ()
    assert nlp.get_pipe_meta("epnet_ner").assigns == [
        "doc.ents",
        "doc.spans",
        "token.ent_iob",
        "token.ent_type",
    ]
    assert nlp.get_pipe_meta("epnet_ner").default_score_weights["ents_f"] == 1.0


def test_labels_come_from_the_examples(make_nlp, examples):
    nlp = make_nlp()
    nlp.initialize(lambda: examples)
    pipe = nlp.get_pipe("epnet_ner")
    assert pipe.labels == ("PERSON", "PLACE")
    assert pipe.label_data == ["PERSON", "PLACE"]
    assert pipe.prototypes == {"PERSON": 1, "PLACE": 2}
    assert [rows.tolist() for rows in pipe.rows_in_use] == [[0, 1, 2]]


def test_labels_can_be_given(make_nlp, examples):
    nlp = make_nlp()
    nlp.config["initialize"]["components"]["epnet_ner"] = {
        "labels": ["THING", "PLACE", "PERSON"]
    }
    nlp.initialize(lambda: examples)
    assert nlp.get_pipe("epnet_ner").labels == ("THING", "PLACE", "PERSON")


def test_add_label_takes_free_prototypes_and_grows_the_table(nlp, examples):
    pipe = nlp.get_pipe("epnet_ner")
    doc = nlp("Ada lives in Paris .")
    optimizer = nlp.resume_training()
    nlp.update(examples, sgd=optimizer)
    assert pipe.add_label("PERSON") == 0
    for i in range(20):
        assert pipe.add_label(f"TYPE{i}") == 1
    assert sorted(pipe.prototypes.values()) == list(range(1, 23))
    assert sorted(pipe.learned["ever_assigned"].values()) == list(range(1, 23))
    assert "TYPE19" in nlp.vocab.strings
    nlp(doc.text)
    nlp.update(examples, sgd=optimizer)


def test_more_labels_than_prototypes_can_be_initialized(make_nlp, examples):
    nlp = make_nlp()
    pipe = nlp.get_pipe("epnet_ner")
    for i in range(30):
        pipe.add_label(f"TYPE{i}")
    nlp.initialize(lambda: examples)
    assert len(pipe.labels) == 32
    train(nlp, examples, steps=2)
    nlp("Ada lives in Paris .")


def test_losses_accumulate_and_show_their_parts(nlp, examples):
    losses = nlp.update(examples, losses={})
    first = dict(losses)
    parts = first["epnet_ner_spans"] + first["epnet_ner_dispersion"]
    assert first["epnet_ner_spans"] > 0
    assert first["epnet_ner"] == pytest.approx(parts)
    nlp.update(examples, losses=losses)
    assert losses["epnet_ner"] > first["epnet_ner"] * 1.5


def test_dispersion_loss_holds_the_prototypes_at_tau(make_nlp, examples):
    dispersions = {}
    for switch in (True, False):
        nlp = make_nlp(dispersion_loss=switch, tau=20.0)
        nlp.initialize(lambda: examples)
        losses = train(nlp, examples)
        pipe = nlp.get_pipe("epnet_ner")
        network = pipe.model.get_ref("head").shims[0]._model
        table = network.prototypes.detach().numpy()
        spread = ((table[:, None] - table[None]) ** 2).sum(-1).mean()
        dispersions[switch] = spread
        assert (losses["epnet_ner_dispersion"] > 0) == switch
    assert dispersions[True] == pytest.approx(20, rel=0.1)
    assert dispersions[False] < 15


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"model__similarity": "cosine", "none_samples": 10},
        {"dispersion_loss": False},
        {"overlaps": {"@misc": "spacy-epnet.prefer_probable.v1"}},
    ],
    ids=["paper", "cosine", "no dispersion", "probability"],
)
def test_overfits_twenty_sentences(make_nlp, examples, settings):
    nlp = make_nlp(**settings)
    nlp.initialize(lambda: examples)
    train(nlp, examples)
    scores = nlp.evaluate(examples)
    assert scores["ents_f"] >= 0.95
    assert set(scores["ents_per_type"]) == {"PERSON", "PLACE"}


def test_every_entity_has_its_probability(trained, references):
    doc = trained(references[0].text)
    group = doc.spans["epnet_ner"]
    assert [(s.start, s.end, s.label_) for s in group] == get_ents(doc)
    scores = group.attrs["scores"]
    assert len(scores) == len(doc.ents) == 2
    assert ((scores > 1 / 3) & (scores <= 1)).all()


def test_threshold_drops_what_is_less_likely(trained, references):
    pipe = trained.get_pipe("epnet_ner")
    docs = [trained(doc.text) for doc in references]
    scores = numpy.concatenate([d.spans["epnet_ner"].attrs["scores"] for d in docs])
    pipe.cfg["threshold"] = float(numpy.median(scores))
    docs = [trained(doc.text) for doc in references]
    kept = numpy.concatenate([d.spans["epnet_ner"].attrs["scores"] for d in docs])
    assert 0 < len(kept) < len(scores)
    assert kept.min() >= pipe.cfg["threshold"]
    pipe.cfg["threshold"] = 0.0
    docs = [trained(doc.text) for doc in references]
    best = {d.text: max(d.spans["epnet_ner"].attrs["scores"]) for d in docs if d.ents}
    doubtful = min(best, key=best.get)
    pipe.cfg["threshold"] = float(numpy.nextafter(best[doubtful], numpy.float32(1)))
    assert not trained(doubtful).ents


def test_spans_key_can_be_chosen(trained, references):
    trained.get_pipe("epnet_ner").cfg["spans_key"] = "mine"
    doc = trained(references[0].text)
    assert len(doc.spans["mine"]) == 2
    assert "epnet_ner" not in doc.spans


@pytest.fixture
def doc_with_entity(trained, references):
    """A doc in which a longer entity lies over a known one."""
    doc = trained.make_doc(references[0].text)
    assert get_ents(references[0]) == [(0, 1, "PERSON"), (3, 4, "PLACE")]
    doc.ents = [Span(doc, 2, 5, label="THING", kb_id="Q1", span_id="x")]
    return doc


def test_existing_entities_win_by_default(trained, doc_with_entity):
    doc = trained(doc_with_entity)
    assert get_ents(doc) == [(0, 1, "PERSON"), (2, 5, "THING")]
    assert (doc.ents[1].kb_id_, doc.ents[1].id_) == ("Q1", "x")
    predicted = [(s.start, s.end, s.label_) for s in doc.spans["epnet_ner"]]
    assert predicted == [(0, 1, "PERSON"), (3, 4, "PLACE")]
    assert len(doc.spans["epnet_ner"].attrs["scores"]) == 2
    assert "epnet_ner_replaced" not in doc.spans


def test_new_entities_win_if_told_so(trained, doc_with_entity):
    trained.get_pipe("epnet_ner").cfg["overwrite_ents"] = True
    doc = trained(doc_with_entity)
    assert get_ents(doc) == [(0, 1, "PERSON"), (3, 4, "PLACE")]
    replaced = doc.spans["epnet_ner_replaced"]
    assert [(s.start, s.end, s.label_) for s in replaced] == [(2, 5, "THING")]
    assert replaced[0].kb_id_ == "Q1"


def test_a_second_pass_loses_nothing(trained, doc_with_entity):
    trained.get_pipe("epnet_ner").cfg["overwrite_ents"] = True
    doc = trained(trained(doc_with_entity))
    assert get_ents(doc) == [(0, 1, "PERSON"), (3, 4, "PLACE")]
    replaced = doc.spans["epnet_ner_replaced"]
    assert [(s.start, s.end, s.label_) for s in replaced] == [(2, 5, "THING")]


def test_entities_that_are_confirmed_keep_what_is_known_of_them(trained, references):
    trained.get_pipe("epnet_ner").cfg["overwrite_ents"] = True
    doc = trained.make_doc(references[0].text)
    doc.ents = [Span(doc, 0, 1, label="PERSON", kb_id="Q7")]
    doc = trained(doc)
    assert get_ents(doc) == [(0, 1, "PERSON"), (3, 4, "PLACE")]
    assert doc.ents[0].kb_id_ == "Q7"
    assert "epnet_ner_replaced" not in doc.spans


@pytest.mark.parametrize("overwrite", [True, False])
def test_entities_out_of_the_way_and_blocked_tokens_stay(
    trained, references, overwrite
):
    trained.get_pipe("epnet_ner").cfg["overwrite_ents"] = overwrite
    doc = trained.make_doc(references[0].text)
    doc.set_ents([Span(doc, 1, 2, label="THING")], blocked=[doc[0:1]])
    doc = trained(doc)
    assert get_ents(doc) == [(1, 2, "THING"), (3, 4, "PLACE")]
    assert (doc[0].ent_iob_, doc[0].ent_type_) == ("B", "")
    assert doc[2].ent_iob_ == "O"


def test_docs_without_entities_are_annotated_as_such(trained, references):
    assert not references[3].ents
    doc = trained(references[3].text)
    assert doc.has_annotation("ENT_IOB")
    assert len(doc.spans["epnet_ner"]) == 0
    assert len(doc.spans["epnet_ner"].attrs["scores"]) == 0


def test_sentence_boundaries_are_respected(trained):
    doc = trained.make_doc("Grace Hopper lives in New York .")
    whole = trained(doc.copy())
    assert (4, 6, "PLACE") in get_ents(whole)
    doc[5].is_sent_start = True
    assert all(ent.end <= 5 or ent.start >= 5 for ent in trained(doc).ents)


def test_scores_go_through_serialization_of_docs(trained, references):
    doc = trained(references[0].text)
    doc._.trf_data = None
    again = Doc(trained.vocab).from_bytes(doc.to_bytes())
    expected = doc.spans["epnet_ner"].attrs["scores"]
    numpy.testing.assert_array_equal(again.spans["epnet_ner"].attrs["scores"], expected)


def test_long_entities_are_announced_and_trained_on(make_nlp, examples):
    nlp = make_nlp(model__max_width=2)
    with pytest.warns(UserWarning, match=r"4 of the 30.*13\.3 %"):
        nlp.initialize(lambda: examples)
    train(nlp, examples)
    scores = nlp.evaluate(examples)
    assert scores["ents_f"] > 0.8
    assert scores["ents_r"] <= 26 / 30


def test_same_seed_trains_the_same_pipeline(make_nlp, examples):
    runs = []
    for _ in range(2):
        spacy.util.fix_random_seed(7)
        nlp = make_nlp()
        nlp.initialize(lambda: examples)
        runs.append([nlp.update(examples, losses={}, drop=0.1) for _ in range(3)])
    assert runs[0] == runs[1]


def test_examples_need_not_share_the_vocab(nlp, references):
    other = spacy.blank("en")
    words = [token.text for token in references[0]]
    for tokens in (words, ["A", "da", *words[1:]]):
        spaces = [token != "A" for token in tokens]
        bare = Doc(other.vocab, words=tokens, spaces=spaces)
        eg = Example(bare, references[0])
        assert nlp.update([eg], losses={})["epnet_ner"] > 0
