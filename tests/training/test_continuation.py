"""Trainings that continue from another pipeline."""

import numpy
import pytest
import spacy
from spacy.training.initialize import init_nlp

from spacy_epnet.epnet.model import get_head_network
from spacy_epnet.errors import EPNetError
from spacy_epnet.training.continuation import make_continue_from

from ..conftest import SMALL_TOK2VEC, get_weights


@pytest.fixture
def source(trained, tmp_path):
    """A trained pipeline on the disk, and the same one."""
    trained.to_disk(tmp_path / "source")
    return str(tmp_path / "source"), trained


def get_table(nlp):
    pipe = nlp.get_pipe("epnet_ner")
    network = get_head_network(pipe.model.get_ref("head"))
    prototypes = network.prototypes.detach().numpy()
    return {label: prototypes[row] for label, row in pipe.prototypes.items()}


def test_weights_and_prototypes_of_known_types_are_copied(source, make_nlp, examples):
    path, known = source
    nlp = make_nlp(model__names=True)
    nlp.get_pipe("epnet_ner").add_label("EVENT")
    nlp.initialize(lambda: examples)
    before = get_table(nlp)
    assert make_continue_from()(nlp) is nlp
    assert numpy.array_equal(get_table(nlp)["PLACE"], before["PLACE"])
    make_continue_from(path)(nlp)
    table, own = get_table(nlp), get_table(known)
    assert [*table] == ["EVENT", "PERSON", "PLACE"]
    for label in ("PERSON", "PLACE"):
        assert numpy.array_equal(table[label], own[label])
    assert numpy.array_equal(table["EVENT"], before["EVENT"])
    nlp.get_pipe("epnet_ner").remove_label("EVENT")
    doc, expected = (each("In Rio we met Otto yesterday .") for each in (nlp, known))
    assert doc.ents
    assert [ent.text for ent in doc.ents] == [ent.text for ent in expected.ents]


def test_a_config_says_what_to_continue_from(source, short_config):
    path, known = source
    short_config["initialize"]["after_init"] = {
        "@callbacks": "spacy-epnet.continue_from.v1",
        "source": path,
    }
    pairs = zip(get_weights(init_nlp(short_config)), get_weights(known), strict=True)
    # The table has prototypes that no type has had, which stay.
    assert sum(one != other for one, other in pairs) == 1


def test_a_pipeline_that_does_not_fit_is_refused(source, make_nlp, examples, tmp_path):
    path, _ = source
    nlp = make_nlp(model__prototype_size=7)
    nlp.initialize(lambda: examples)
    with pytest.raises(EPNetError, match=r"or \[components.epnet_ner.model\]"):
        make_continue_from(path)(nlp)
    other = spacy.blank("en")
    other.add_pipe("nnshot_ner", config={"model": {"tok2vec": SMALL_TOK2VEC}})
    other.initialize(lambda: examples)
    other.to_disk(tmp_path / "other")
    with pytest.raises(EPNetError, match="another encoder, recognizer"):
        make_continue_from(str(tmp_path / "other"))(nlp)
    with pytest.raises(EPNetError, match="no pipeline 'nowhere'"):
        make_continue_from("nowhere")(nlp)
