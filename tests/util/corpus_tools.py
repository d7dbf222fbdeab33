"""What the tests of the readers share."""


def get_ents(doc):
    return [(ent.text, ent.label_) for ent in doc.ents]


def get_words(docs):
    return [[token.text for token in doc] for doc in docs]
