"""Configs for training any recognizer, and the settings that they are made of."""

import pytest
import spacy
from spacy.util import load_config, load_model_from_config
from thinc.api import Config

from spacy_epnet.errors import InvalidSettingError, SettingError
from spacy_epnet.training.config import list_recognizers, make_training_config
from spacy_epnet.training.settings_page import make_settings_page

from ..conftest import RECOGNIZERS, ROOT, SOURCE_CONFIG
from ..util.commands import run


@pytest.mark.parametrize("name", RECOGNIZERS)
def test_a_config_is_whole_and_has_the_defaults_of_the_recognizer(name):
    config = Config().from_str(make_training_config(name, "mine"), interpolate=True)
    nlp = load_model_from_config(config, auto_fill=False, validate=True)
    assert nlp.pipe_names == ["transformer", name]
    assert nlp.get_pipe("transformer").model.attrs["name"] == "mine"
    blank = spacy.blank("en")
    blank.add_pipe(name)
    assert nlp.get_pipe_config(name) == blank.get_pipe_config(name)


def test_the_shipped_config_is_the_same_on_a_corpus_that_is_shipped():
    text = make_training_config("epnet_ner")
    config = Config().from_str(text, interpolate=False)
    shipped = load_config(SOURCE_CONFIG)
    for split in ("train", "dev"):
        assert config["paths"][split] is None
        config["paths"][split] = shipped["paths"][split]
    assert config == shipped


def test_what_add_pipe_makes_is_what_is_measured():
    nlp = spacy.blank("en")
    nlp.add_pipe("epnet_ner")
    shipped = load_config(SOURCE_CONFIG, interpolate=True)["components"]["epnet_ner"]
    assert nlp.get_pipe_config("epnet_ner") == shipped


@pytest.mark.parametrize("name", RECOGNIZERS)
def test_settings_make_the_factory_the_checks_and_the_config(name):
    nlp = spacy.blank("en")
    settings = type(nlp.add_pipe(name)).settings_type
    text = make_training_config(name)
    for part in (settings, settings.Model, settings.Adapt):
        for field in part.model_fields.values():
            assert field.description
    for part in (settings, settings.Model):
        for field in part.model_fields.values():
            assert f"# {field.description[:40]}" in text
    for setting, default in settings.get_defaults().items():
        found = nlp.get_pipe_config(name)[setting]
        assert found == default or found["@misc"] == default["@misc"]
    with pytest.raises(InvalidSettingError, match="threshold"):
        nlp.get_pipe(name).cfg["threshold"] = 2.0
    with pytest.raises(InvalidSettingError, match="threshold"):
        spacy.blank("en").add_pipe(name, config={"threshold": -1.0})


def test_models_check_their_settings():
    for setting in ("max_width", "learn_rate_scale"):
        with pytest.raises(InvalidSettingError, match=setting):
            spacy.blank("en").add_pipe("epnet_ner", config={"model": {setting: 0}})


def test_an_unknown_recognizer():
    with pytest.raises(SettingError, match="epnet_ner, epnet_tokens_ner"):
        make_training_config("ner")
    assert "No config was written" in run("epnet", "init-config", "no", "-", code=1)


def test_the_command_prints_writes_and_replaces_nothing_unasked(tmp_path):
    path = tmp_path / "config.cfg"
    printed = run("epnet", "init-config", "nnshot_ner", "-")
    assert printed == make_training_config("nnshot_ner")
    run("epnet", "init-config", "nnshot_ner", path)
    assert path.read_text(encoding="utf8") == printed
    assert "--force" in run("epnet", "init-config", "esd_ner", path, code=1)
    assert path.read_text(encoding="utf8") == printed
    run("epnet", "init-config", "esd_ner", path, "--force", "--encoder", "mine")
    assert load_config(path)["paths"]["encoder"] == "mine"


def test_help_names_all_recognizers():
    text = " ".join(run("epnet", "init-config", "--help").split())
    for name in list_recognizers():
        assert name in text


def test_the_page_of_settings_is_up_to_date():
    page = (ROOT / "docs" / "settings.md").read_text(encoding="utf8")
    assert page == make_settings_page(), "write it anew, as it says itself"
