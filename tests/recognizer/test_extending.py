"""Types that join those that are known, leave, or change their names."""

import pytest

from spacy_epnet.adapting import adapt

from ..conftest import get_ents, train
from ..util.adapting_tools import FAST, mark

OLD = [
    "Ada lives in Paris .",
    "In Ulm we met Alan Turing yesterday .",
    "Nobody was there .",
    "Otto and Grace Hopper left .",
]
NEW = [
    mark("Ada lives in Paris .", [("Paris", "TOWN")]),
    mark("In Rio we met Otto yesterday .", [("Rio", "TOWN")]),
    mark("Grace Hopper lives in Ulm .", [("Ulm", "TOWN")]),
]


def read(nlp, texts=OLD):
    return [
        (get_ents(doc), doc.spans["epnet_ner"].attrs["scores"].tolist())
        for doc in nlp.pipe(texts)
    ]


def read_new(nlp):
    return [ents for ents, _ in read(nlp, [text for text, _ in NEW])]


@pytest.fixture
def extended(trained):
    return adapt(trained, NEW, extend=True).nlp


def test_old_predictions_are_the_same_to_the_last_bit(trained, extended):
    before, after = read(trained), read(extended)
    has_new = [any(label == "TOWN" for *_, label in ents) for ents, _ in after]
    assert has_new == [True, True, False, False]
    assert after[2:] == before[2:]
    assert before[3][0]


def test_the_new_type_is_recognized_beside_the_old_ones(trained, extended):
    pipe = extended.get_pipe("epnet_ner")
    assert pipe.labels == ("PERSON", "PLACE", "TOWN")
    assert [*map(list, pipe.generations)] == [["PERSON", "PLACE"], ["TOWN"]]
    found = {label for ents in read_new(extended) for *_, label in ents}
    assert "TOWN" in found
    assert trained.get_pipe("epnet_ner").labels == ("PERSON", "PLACE")


def test_old_weights_stay(trained, extended):
    networks = [
        nlp.get_pipe("epnet_ner").model.get_ref("head").shims[0]._model
        for nlp in (trained, extended)
    ]
    before, after = (dict(network.named_parameters()) for network in networks)
    assert all(w.equal(after[n]) for n, w in before.items() if n != "prototypes")
    row = extended.get_pipe("epnet_ner").prototypes["TOWN"]
    others = [i for i in range(8) if i != row]
    assert before["prototypes"][others].equal(after["prototypes"][others])
    assert not before["prototypes"][row].equal(after["prototypes"][row])


def test_pipelines_grow_more_than_once(extended):
    more = [mark("Ada plays a cello .", [("cello", "TOOL")])]
    again = adapt(extended, more, extend=True, lr=0.05).nlp
    pipe = again.get_pipe("epnet_ner")
    assert pipe.labels == ("PERSON", "PLACE", "TOWN", "TOOL")
    assert len(set(pipe.prototypes.values())) == 4
    assert len(pipe.learned["support"]) == 4


def test_tables_grow_with_the_types(trained):
    marks = [mark(f"A thing{i} fell .", [(f"thing{i}", f"T{i}")]) for i in range(9)]
    for extend, total in ((True, 11), (False, 9)):
        pipe = adapt(trained, marks, extend=extend, max_steps=2).nlp.get_pipe(
            "epnet_ner"
        )
        assert len(set(pipe.prototypes.values())) == total
        assert 0 not in pipe.prototypes.values()


def test_extending_with_known_types_only_is_an_error(trained):
    known = [mark("Ada left .", [("Ada", "PERSON")])]
    with pytest.raises(ValueError, match=r"PERSON.*without extend"):
        adapt(trained, known, extend=True)


def test_known_types_keep_their_prototypes(trained):
    support = [*NEW, mark("Rio grows .", [("Rio", "PLACE")])]
    before = trained.get_pipe("epnet_ner").prototypes
    for profile in ("paper", "default"):
        report = adapt(trained, support, profile=profile, max_steps=2)
        after = report.nlp.get_pipe("epnet_ner").prototypes
        assert after["PLACE"] == before["PLACE"]
        assert report.learning.assignments["PLACE"].origins == {"PLACE": 1.0}


def test_prototypes_of_types_that_stay_are_not_taken(trained):
    taken = trained.get_pipe("epnet_ner").prototypes.values()
    for profile in ("paper", "default"):
        report = adapt(trained, NEW, extend=True, profile=profile, max_steps=2)
        assert report.learning.assignments["TOWN"].row not in taken


def test_types_are_removed(extended):
    pipe = extended.get_pipe("epnet_ner")
    row = pipe.prototypes["TOWN"]
    pipe.remove_label("TOWN")
    assert pipe.labels == ("PERSON", "PLACE")
    assert len(pipe.generations) == 1
    labels = {label for ents in read_new(extended) for *_, label in ents}
    assert "TOWN" not in labels
    with pytest.raises(ValueError, match=r"TOWN.*PERSON, PLACE"):
        pipe.remove_label("TOWN")
    pipe.add_label("OTHER")
    assert pipe.prototypes["OTHER"] == row


def test_removing_all_types_leaves_a_recognizer_of_nothing(trained):
    pipe = trained.get_pipe("epnet_ner")
    for label in pipe.labels:
        pipe.remove_label(label)
    assert pipe.labels == ()
    assert all(ents == [] for ents, _ in read(trained))


def test_types_are_renamed(trained, tmp_path):
    expected = read(trained)
    pipe = trained.get_pipe("epnet_ner")
    pipe.rename_label("PERSON", "HUMAN")
    assert pipe.labels == ("HUMAN", "PLACE")
    names = {"PERSON": "HUMAN"}
    assert read(trained) == [
        ([(s, e, names.get(label, label)) for s, e, label in ents], scores)
        for ents, scores in expected
    ]
    with pytest.raises(ValueError, match=r"PLACE"):
        pipe.rename_label("HUMAN", "PLACE")
    with pytest.raises(ValueError, match=r"' has no label '"):
        pipe.rename_label("PERSON", "X")
    with pytest.raises(ValueError, match=r"' can't take"):
        pipe.rename_label("HUMAN", "")


def test_examples_are_renamed_with_their_type(trained):
    nlp = adapt(trained, NEW, **FAST).nlp
    pipe = nlp.get_pipe("epnet_ner")
    pipe.rename_label("TOWN", "VEHICLE")
    labels = {label for eg in pipe.learned["support"] for *_, label in eg["ents"]}
    assert labels == {"VEHICLE"}


def test_a_grown_pipeline_can_be_trained_on(extended, examples):
    losses = train(extended, examples, steps=3)
    assert losses["epnet_ner"] > 0


def test_full_tables_give_each_type_a_row_of_its_own(make_nlp, examples):
    nlp = make_nlp(model__n_prototypes=3)
    nlp.initialize(lambda: examples)
    marks = [
        mark("A lute fell .", [("lute", "LUTE")]),
        mark("A saw fell .", [("saw", "TOOL")]),
        mark("Rio grows .", [("Rio", "PLACE")]),
    ]
    for extend in (True, False):
        for profile in ("paper", "default"):
            settings = {"profile": profile, "max_steps": 1}
            grown = adapt(nlp, marks, extend=extend, **settings).nlp
            rows = grown.get_pipe("epnet_ner").prototypes
            assert len(set(rows.values())) == len(rows)
            if extend:
                assert (rows["PERSON"], rows["PLACE"]) == (1, 2)


def test_examples_are_forgotten_with_their_types(trained):
    first = adapt(trained, NEW, max_steps=1).nlp
    assert first.get_pipe("epnet_ner").learned["support"]
    second = adapt(first, NEW, max_steps=1, remember=False).nlp
    assert second.get_pipe("epnet_ner").learned["support"] == []
    pipe = first.get_pipe("epnet_ner")
    pipe.remove_label("TOWN")
    assert not any(example["ents"] for example in pipe.learned["support"])
