"""A support set, fast settings to learn it with, and what tests read of the result."""

TEXTS = [
    ("Ada flew to Rio with Otto .", [("Ada", "PILOT"), ("Rio", "CITY")]),
    ("Alan Turing left Ulm .", [("Alan Turing", "PILOT"), ("Ulm", "CITY")]),
    ("We met Otto in Paris .", [("Otto", "PILOT"), ("Paris", "CITY")]),
    ("Grace Hopper loves Cape Town .", [("Grace Hopper", "PILOT")]),
]


def mark(text, entities):
    return text, [
        (text.index(entity), text.index(entity) + len(entity), label)
        for entity, label in entities
    ]


SUPPORT = [mark(*item) for item in TEXTS]
FAST = {
    "lr": 0.01,
    "max_steps": 60,
    "target_loss": 0.0,
    "average": 0,
    "dropout": 0.0,
}


def make_reference(nlp, item):
    doc = nlp.make_doc(item[0])
    doc.ents = [doc.char_span(s, e, label=label) for s, e, label in item[1]]
    return doc


def get_network_weights(nlp):
    network = nlp.get_pipe("epnet_ner").model.get_ref("head").shims[0]._model
    return {name: w.detach().clone() for name, w in network.named_parameters()}
