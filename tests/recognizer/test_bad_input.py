"""What people and corpora do wrong, and what they are told."""

import numpy
import pytest
import spacy
from spacy.tokens import Doc, Span
from spacy.training import Example

from ..conftest import get_ents


def get_weights(nlp):
    network = nlp.get_pipe("epnet_ner").model.get_ref("head").shims[0]._model
    return {name: p.detach().numpy().copy() for name, p in network.named_parameters()}


def assert_unchanged(nlp, before):
    for name, weights in get_weights(nlp).items():
        numpy.testing.assert_array_equal(weights, before[name])


def make_example(nlp, words, label="PERSON"):
    doc = Doc(nlp.vocab, words=words)
    doc.set_ents([Span(doc, 0, 1, label=label)] if words else [])
    return Example(Doc(nlp.vocab, words=words), doc)


def test_no_labels(make_nlp, references):
    nlp = make_nlp()
    docs = [Doc(doc.vocab, words=[t.text for t in doc]) for doc in references]
    for doc in docs:
        doc.set_ents([])
    with pytest.raises(ValueError, match=r"no labels"):
        nlp.initialize(lambda: [Example(doc.copy(), doc) for doc in docs])
    assert nlp.get_pipe("epnet_ner").labels == ()


@pytest.mark.parametrize("labels", [["GOOD", 3], ["GOOD", ""], ["GOOD", None]])
def test_labels_that_are_none(make_nlp, examples, labels):
    nlp = make_nlp()
    nlp.initialize(lambda: examples)
    pipe = nlp.get_pipe("epnet_ner")
    with pytest.raises(ValueError, match=r"' can't take"):
        pipe.initialize(lambda: examples, labels=labels)
    with pytest.raises(ValueError, match=r"' can't take"):
        pipe.add_label(labels[1])
    assert "GOOD" not in pipe.labels


def test_a_string_is_no_list_of_labels(make_nlp, examples):
    nlp = make_nlp()
    nlp.config["initialize"]["components"]["epnet_ner"] = {"labels": "PERSON"}
    with pytest.raises(ValueError, match=r"' can't take|labels"):
        nlp.initialize(lambda: examples)
    assert nlp.get_pipe("epnet_ner").labels == ()


def test_given_labels_that_lack_one_of_the_data(make_nlp, examples):
    nlp = make_nlp()
    nlp.config["initialize"]["components"]["epnet_ner"] = {"labels": ["PERSON"]}
    with pytest.raises(ValueError, match=r"PLACE.*It has: PERSON"):
        nlp.initialize(lambda: examples)
    assert nlp.get_pipe("epnet_ner").labels == ()


def test_labels_the_component_does_not_have(nlp, examples):
    before = get_weights(nlp)
    strange = make_example(nlp, ["Acme", "grows"], label="ORG")
    with pytest.raises(ValueError, match=r"ORG.*PERSON, PLACE"):
        nlp.update([*examples, strange], sgd=nlp.create_optimizer())
    assert_unchanged(nlp, before)


def test_no_transformer_in_the_pipeline(examples):
    nlp = spacy.blank("en")
    nlp.add_pipe("epnet_ner")
    with pytest.raises(ValueError, match=r"add_pipe\('transformer'"):
        nlp.initialize(lambda: examples)


def test_transformer_after_the_component(source_config, examples):
    config = source_config.copy()
    config["nlp"]["pipeline"] = ["epnet_ner", "transformer"]
    nlp = spacy.util.load_model_from_config(config, auto_fill=True)
    with pytest.raises(ValueError, match=r"Can't initialize '"):
        nlp.initialize(lambda: examples)


def test_transformer_that_never_ran(trained, references):
    text = references[0].text
    with (
        trained.select_pipes(disable="transformer"),
        pytest.raises(ValueError, match=r"transformer.*1 of the 1"),
    ):
        trained(text)
    assert trained(text).ents


def test_frozen_transformer_that_does_not_annotate(nlp, examples):
    before = get_weights(nlp)
    with pytest.raises(ValueError, match=r"annotating_components"):
        nlp.update(examples, sgd=nlp.create_optimizer(), exclude=["transformer"])
    assert_unchanged(nlp, before)


def test_tok2vec_that_never_ran(examples):
    nlp = spacy.blank("en")
    nlp.add_pipe("tok2vec")
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": 96}
    nlp.add_pipe("epnet_ner", config={"model": {"tok2vec": listener}})
    nlp.initialize(lambda: examples)
    nlp(examples[0].x.text)
    with (
        nlp.select_pipes(disable="tok2vec"),
        pytest.raises(ValueError, match=r"tok2vec"),
    ):
        nlp(examples[0].x.text)


def test_component_that_is_not_initialized(make_nlp, examples):
    pipe = make_nlp().get_pipe("epnet_ner")
    with pytest.raises(
        ValueError, match=r"' isn't initialized\. Call nlp\.initialize\(\), or"
    ):
        pipe(examples[0].x)
    with pytest.raises(
        ValueError, match=r"' isn't initialized\. Call nlp\.initialize\(\), or"
    ):
        pipe.update(examples)


def test_settings_out_of_range():
    for config in ({"tau": -1.0}, {"none_samples": -1}, {"threshold": 1.5}):
        with pytest.raises(ValueError, match=r"Invalid value for the setting '"):
            spacy.blank("en").add_pipe("epnet_ner", config=config)
    with pytest.raises(ValueError, match="overlaps"):
        spacy.blank("en").add_pipe("epnet_ner", config={"overlaps": "loudness"})
    with pytest.raises(ValueError, match="similarity"):
        spacy.blank("en").add_pipe("epnet_ner", config={"model": {"similarity": "x"}})


ODD_TEXTS = {
    "empty": "",
    "one token": "Ada",
    "space": " ",
    "whitespace": " \n\n \t ",
    "long": "Ada lives in Paris . " * 100,
    "long token": "a" * 1000,
    "dropped by the tokenizer": "Ada \u200b\ufeff lives in \x00 Paris",
    "unknown to the tokenizer": "阿达 lives in 巴黎 🎉",
}


@pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS)
def test_odd_texts_are_recognized_without_an_error(trained, text):
    doc = trained(text)
    assert doc.text == text
    assert not any(ent[0].is_space or ent[-1].is_space for ent in doc.ents)
    assert len(doc.spans["epnet_ner"]) == len(doc.spans["epnet_ner"].attrs["scores"])
    (piped,) = trained.pipe([text])
    assert get_ents(piped) == get_ents(doc)


def test_docs_longer_than_the_encoders_window_are_recognized_to_the_end(trained):
    doc = trained(ODD_TEXTS["long"])
    assert len(doc.ents) > 90
    assert doc.ents[-1].end > 490


@pytest.mark.parametrize("text", ODD_TEXTS.values(), ids=ODD_TEXTS)
def test_odd_texts_are_trained_on_without_an_error(nlp, examples, text):
    doc = nlp.make_doc(text)
    doc.set_ents([])
    odd = Example(nlp.make_doc(text), doc)
    optimizer = nlp.create_optimizer()
    for batch in ([odd], [odd, *examples[:3]], [odd, odd]):
        losses = nlp.update(batch, sgd=optimizer, losses={})
        assert numpy.isfinite(losses["epnet_ner"])
    nlp(text)


def test_tokens_that_were_merged_after_the_transformer_ran(trained, references):
    @spacy.Language.component("merge_two")
    def merge_two(doc):
        with doc.retokenize() as retokenizer:
            retokenizer.merge(doc[:2])
        return doc

    trained.add_pipe("merge_two", after="transformer")
    with pytest.raises(ValueError, match=r"4 tokens.*vectors for 5"):
        trained("Ada lives in Paris .")
    with pytest.raises(ValueError, match=r"The token vectors don't fit the"):
        list(trained.pipe([doc.text for doc in references]))


def test_whitespace_at_the_edge_of_an_entity_is_announced(make_nlp, examples):
    nlp = make_nlp()
    doc = Doc(nlp.vocab, words=["Ada", "\n", "left"])
    doc.set_ents([Span(doc, 0, 2, label="PERSON")])
    odd = Example(Doc(nlp.vocab, words=["Ada", "\n", "left"]), doc)
    with pytest.warns(UserWarning, match=r"1 of the 31"):
        nlp.initialize(lambda: [*examples, odd])


def test_annotations_that_mostly_line_up(make_nlp, examples):
    nlp = make_nlp()
    reference = Doc(nlp.vocab, words=["New", "York"])
    reference.set_ents([Span(reference, 1, 2, label="PLACE")])
    odd = Example(Doc(nlp.vocab, words=["NewYork"]), reference)
    with pytest.warns(UserWarning, match=r"1 of the 31.*'York'"):
        nlp.initialize(lambda: [*examples, odd])
    assert numpy.isfinite(nlp.update([odd], losses={})["epnet_ner"])


def test_annotations_that_do_not_line_up(make_nlp):
    nlp = make_nlp()
    reference = Doc(nlp.vocab, words=["New", "York"])
    reference.set_ents([Span(reference, 1, 2, label="PLACE")])
    odd = Example(Doc(nlp.vocab, words=["NewYork"]), reference)
    with pytest.raises(ValueError, match=r"none of the 1.*'York'"):
        nlp.initialize(lambda: [odd])
    assert nlp.get_pipe("epnet_ner").labels == ()


def test_docs_without_annotation_teach_nothing(nlp, references):
    bare = Doc(references[0].vocab, words=[t.text for t in references[0]])
    losses = nlp.update([Example(bare.copy(), bare)], losses={})
    assert losses["epnet_ner"] == 0.0
