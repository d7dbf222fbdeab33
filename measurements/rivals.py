"""spaCy's own recognizers, with which EP-Net is compared."""

from typing import Any

SPANS_KEY = "sc"

LISTENER = {
    "@architectures": "spacy-transformers.TransformerListener.v1",
    "grad_factor": 1.0,
    "pooling": {"@layers": "reduce_mean.v1"},
}
# As `spacy init config --gpu` has them.
RIVALS: dict[str, dict[str, Any]] = {
    "ner": {
        "model": {
            "@architectures": "spacy.TransitionBasedParser.v2",
            "state_type": "ner",
            "extra_state_tokens": False,
            "hidden_width": 64,
            "maxout_pieces": 2,
            "use_upper": False,
            "tok2vec": LISTENER,
        }
    },
    "spancat_singlelabel": {
        "spans_key": SPANS_KEY,
        "model": {"tok2vec": LISTENER},
        "suggester": {
            "@misc": "spacy.ngram_range_suggester.v1",
            "min_size": 1,
            "max_size": 10,
        },
    },
}
