"""Use the installed package from outside its source tree."""

from pathlib import Path

import spacy
from spacy.tokens import Doc, Span
from spacy.training import Example

import spacy_epnet
import spacy_epnet.sources.catalog
from spacy_epnet.corpora.type_names import read_type_names

TOK2VEC = {
    "@architectures": "spacy.HashEmbedCNN.v2",
    "width": 16,
    "depth": 1,
    "embed_size": 100,
    "window_size": 1,
    "maxout_pieces": 2,
    "subword_features": True,
    "pretrained_vectors": None,
}


def main() -> None:
    package = Path(spacy_epnet.__file__).parent
    assert "site-packages" in package.parts, f"not the installed package: {package}"
    assert (package / "py.typed").is_file(), "package data is missing"
    sources = spacy_epnet.sources.catalog.list_sources()
    assert "small" in sources, "the weights of the sources are missing"
    assert read_type_names(), "the list of types is missing"
    spacy.util.fix_random_seed(0)
    spacy.blank("en").add_pipe("epnet_ner")  # with its default, a transformer
    nlp = spacy.blank("en")
    nlp.add_pipe("epnet_ner", config={"model": {"tok2vec": TOK2VEC}})
    doc = Doc(nlp.vocab, words=["Ada", "lives", "in", "Paris"])
    doc.ents = [Span(doc, 0, 1, label="PERSON"), Span(doc, 3, 4, label="CITY")]
    example = Example(nlp.make_doc("Ada lives in Paris"), doc)
    optimizer = nlp.initialize(lambda: [example])
    optimizer.learn_rate = 0.01
    for _ in range(30):
        nlp.update([example], sgd=optimizer)
    nlp.to_disk("pipeline")
    ents = [(ent.text, ent.label_) for ent in spacy.load("pipeline")(doc.text).ents]
    assert ents == [("Ada", "PERSON"), ("Paris", "CITY")], ents
    support = [("Rex barked at Otto", [(0, 3, "DOG")])]
    adapted = spacy_epnet.adapt(nlp, support, lr=0.01).nlp
    assert [ent.label_ for ent in adapted("Rex barked at Otto").ents] == ["DOG"]
    print("The installed package trains, saves, loads, adapts and recognizes.")


if __name__ == "__main__":
    main()
