import random

import pytest

from spacy_epnet.corpora.labels import is_label
from spacy_epnet.corpora.tags import TagError, detect_scheme, read_tags, write_tags
from spacy_epnet.recognizer.checks import check_label

ENTITIES = [(0, 2, "A"), (2, 3, "A"), (3, 4, "B"), (6, 8, "A")]
TAGS = {
    "bio": "B-A I-A B-A B-B O O B-A I-A",
    "iob1": "I-A I-A B-A I-B O O I-A I-A",
    "bioes": "B-A E-A S-A S-B O O B-A E-A",
}


@pytest.mark.parametrize("scheme", TAGS)
def test_schemes_stand_for_the_same_entities(scheme):
    assert read_tags(TAGS[scheme].split(), scheme) == ENTITIES
    assert detect_scheme([TAGS[scheme].split()]) == scheme


def test_biluo_is_bioes_with_other_letters():
    tags = TAGS["bioes"].replace("E-", "L-").replace("S-", "U-").split()
    assert read_tags(tags, "bioes") == ENTITIES


def test_io_takes_a_run_for_one_entity():
    tags = ["A", "A", "A", "B", "O", "O", "A", "A"]
    assert read_tags(tags, "io") == [(0, 3, "A"), (3, 4, "B"), (6, 8, "A")]
    assert detect_scheme([tags]) == "io"
    assert read_tags([], "io") == []


def test_types_may_have_hyphens():
    tags = ["B-creative-work", "I-creative-work", "O"]
    assert read_tags(tags, "bio") == [(0, 2, "creative-work")]
    io = ["person-artist/author", "O"]
    assert read_tags(io, "io") == [(0, 1, "person-artist/author")]
    assert detect_scheme([io]) == "io"


@pytest.mark.parametrize(
    ("tags", "scheme", "index"),
    [
        ("O I-A", "bio", 1),
        ("B-A I-B", "bio", 1),
        ("O X-A", "bio", 1),
        ("O A", "bio", 1),
        ("B-", "bio", 0),
        ("O E-A", "iob1", 1),
        ("B-A O", "bioes", 1),
        ("B-A S-A", "bioes", 1),
        ("I-A E-A", "bioes", 0),
        ("O B-A", "bioes", 1),
        ("B-A E-B", "bioes", 1),
    ],
)
def test_broken_sequences_are_found_where_they_break(tags, scheme, index):
    with pytest.raises(TagError) as info:
        read_tags(tags.split(), scheme)
    assert info.value.index == index


def test_bio_with_a_mistake_is_not_taken_for_iob1():
    assert detect_scheme([["B-A", "I-A", "O", "I-A"]]) == "bio"
    assert detect_scheme([["O", "O"]]) == "bio"


@pytest.mark.parametrize("seed", range(20))
def test_writing_is_the_inverse_of_reading(seed):
    rng = random.Random(seed)
    entities, position = [], 0
    while position < 30:
        position += rng.randrange(3)
        width = rng.randrange(1, 4)
        entities.append((position, position + width, rng.choice("AB")))
        position += width
    tags = write_tags(40, entities)
    assert read_tags(tags, "bio") == entities
    assert write_tags(40, read_tags(tags, "bio")) == tags


@pytest.mark.parametrize("label", ["PER", "人名", "two words", "क्\u200dष", "<<"])
def test_labels_can_be_seen(label):
    assert is_label(label)
    check_label("ner", label)


@pytest.mark.parametrize(
    "label",
    [
        "",
        " ",
        "\u200b",
        "\ufeff",
        "\u00ad",
        "A\x1b[0m",
        "A\tB",
        "A\u2028B",
        "\ud83d",
        7,
    ],
)
def test_labels_that_can_not_be_seen_are_refused(label):
    assert not is_label(label)
    with pytest.raises(ValueError, match="can be seen"):
        check_label("ner", label)
