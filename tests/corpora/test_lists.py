"""The lists of corpora and types that come with the package."""

import pytest

from spacy_epnet.corpora.listed_corpora import make_listed_corpora, read_listed_corpora
from spacy_epnet.corpora.mixing import read_parts
from spacy_epnet.corpora.type_names import make_type_names, read_type_names
from spacy_epnet.errors import CorpusError, EPNetError


def test_the_list_of_types_is_whole():
    types = read_type_names()
    assert len(types) > 1200
    names = [(each.corpus, each.name) for each in types.values()]
    assert len({*names}) == len(names)
    for each in types.values():
        assert each.label == f"{each.corpus}:{each.type}"
        assert all(
            text.strip() == text and text.isascii() for text in each.list_texts()
        )
        assert 3 < len(each.description.split()) < 30
    assert make_type_names()["pii:PERSON"][0] == "person"
    assert make_type_names(corpus="pii")["PERSON"][0] == "person"
    with pytest.raises(EPNetError, match=r"'corpus': 'pi'.*recipes"):
        make_type_names(corpus="pi")


def test_the_list_of_corpora_is_whole():
    listed = {each.corpus: each for each in read_listed_corpora()}
    named = {each.corpus for each in read_type_names().values()}
    assert len(listed) == 57
    assert {each.types_of or name for name, each in listed.items()} <= named
    for each in listed.values():
        assert 0 < each.weight <= 1
        assert all([each.title, each.about, each.author, each.license])
        assert each.url.startswith("https://")
    blocks = make_listed_corpora("folder")
    assert {*read_parts(blocks)} == {*listed}
    assert blocks["recipes"]["path"] == "folder/recipes.spacy"
    whole = make_listed_corpora("folder", partial=False)
    assert {*blocks} - {*whole} == {"fewnerd_partial"}


def test_lists_of_types_that_are_none(tmp_path):
    path = tmp_path / "types.jsonl"
    path.write_text('{"corpus": "a"}\n')
    with pytest.raises(CorpusError, match="no list of types"):
        make_type_names(path)
    with pytest.raises(CorpusError, match="no list of corpora"):
        make_listed_corpora("folder", path=path)
