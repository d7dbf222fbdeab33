import pytest

from spacy_epnet.adapting import adapt
from spacy_epnet.evaluation.explanation import explain

from ..util.adapting_tools import FAST, SUPPORT


@pytest.fixture
def adapted(trained):
    return adapt(trained, SUPPORT, **FAST).nlp


def test_entities_are_explained_by_probabilities_and_examples(adapted):
    text = SUPPORT[0][0]
    first, second = explain(adapted, text)
    assert (first.text, first.label) == ("Ada", "PILOT")
    assert (second.text, second.label) == ("Rio", "CITY")
    score = adapted(text).spans["epnet_ner"].attrs["scores"][0]
    assert first.probability == pytest.approx(float(score), abs=1e-6)
    others = dict(first.runners_up)
    assert set(others) == {"CITY", "no entity"}
    assert first.probability + sum(others.values()) == pytest.approx(1, abs=1e-5)
    nearest = first.neighbors[0]
    assert (nearest.text, nearest.label, nearest.sentence) == ("Ada", "PILOT", text)
    assert nearest.distance == pytest.approx(0, abs=1e-3)
    distances = [near.distance for near in first.neighbors]
    assert distances == sorted(distances)
    assert len(distances) == 3


def test_explanations_survive_the_disk(adapted, tmp_path):
    import spacy

    expected = explain(adapted, SUPPORT[1][0])
    adapted.to_disk(tmp_path / "adapted")
    loaded = explain(spacy.load(tmp_path / "adapted"), SUPPORT[1][0])
    assert [e.neighbors[0][:3] for e in loaded] == [
        e.neighbors[0][:3] for e in expected
    ]


def test_examples_can_be_forgotten(trained):
    nlp = adapt(trained, SUPPORT, remember=False, **FAST).nlp
    assert nlp.get_pipe("epnet_ner").learned["support"] == []
    assert all(not e.neighbors for e in explain(nlp, SUPPORT[0][0]))


def test_texts_without_entities(adapted):
    assert explain(adapted, "") == []
    assert explain(adapted, "Nobody was there .") == []


def test_generations_are_explained_apart(trained):
    town = [("Ada lives in Paris .", [(13, 18, "TOWN")])]
    nlp = adapt(trained, town, extend=True).nlp
    found = {e.label: e for e in explain(nlp, "Ada lives in Paris .")}
    assert {"PERSON", "TOWN"} <= set(found)
    assert [near.label for near in found["TOWN"].neighbors] == ["TOWN"]
    assert "PLACE" in dict(found["TOWN"].runners_up)
    assert "TOWN" not in dict(found["TOWN"].runners_up)


def test_others_can_predict_while_something_is_explained(adapted):
    """The pipeline that is explained stays as it is, all the time."""
    seen = []
    transformer = adapted.get_pipe("transformer")
    predict = transformer.predict

    def watch(docs):
        seen.append(list(adapted.pipe_names))
        return predict(docs)

    transformer.predict = watch
    explain(adapted, SUPPORT[0][0])
    assert seen
    assert all(names == ["transformer", "epnet_ner"] for names in seen)
