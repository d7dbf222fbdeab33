import io

import pytest

from spacy_epnet.training.logger import make_console_logger


@pytest.fixture
def info(nlp, examples):
    losses = nlp.update(examples, losses={})
    return {"epoch": 0, "step": 5, "losses": losses, "other_scores": {}, "score": 0.5}


def test_parts_have_columns_and_losses_stay_untouched(nlp, info):
    before = dict(info["losses"])
    out = io.StringIO()
    log_step, finalize = make_console_logger()(nlp, out, out)
    log_step(None)
    log_step(info)
    finalize()
    header, _, row = out.getvalue().strip().splitlines()
    assert header.count("LOSS") == 4
    assert f"{before['epnet_ner_spans']:.2f}" in row
    assert info["losses"] == before


def test_parts_of_two_components_are_told_apart(nlp, info):
    second = nlp.add_pipe("epnet_ner", name="second")
    info["losses"].update(second=0.0)
    out = io.StringIO()
    log_step, _ = make_console_logger()(nlp, out, out)
    log_step(info)
    header = out.getvalue().splitlines()[0]
    for column in ("L_S 1", "L_D 1", "L_S 2", "L_D 2"):
        assert column in header
    assert second.loss_parts == {"L_s": "second_spans", "L_d": "second_dispersion"}
