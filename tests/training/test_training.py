import signal

import numpy
import pytest
import spacy
import srsly
from spacy.training.initialize import init_nlp
from spacy.training.loop import train as train_by_spacy
from typer.testing import CliRunner

from spacy_epnet import processes
from spacy_epnet.cli import app
from spacy_epnet.processes import return_memory
from spacy_epnet.signals import catch_interruption
from spacy_epnet.training import loop
from spacy_epnet.training.checkpoint import iter_positions
from spacy_epnet.training.loop import Training

from ..conftest import get_weights


@pytest.fixture
def run(short_config, tmp_path):
    """Train, or go on with it."""

    def run(name="run", stop_after=None, **settings):
        changed = short_config.copy()
        changed["training"] |= settings
        training = Training(init_nlp(changed), tmp_path / name)
        training.resume()
        if stop_after is not None:
            update, counter = training._update, iter(range(1, 1000))

            def update_and_stop(*args):
                update(*args)
                if next(counter) == stop_after:
                    signal.raise_signal(signal.SIGINT)

            training._update = update_and_stop
        with open(tmp_path / "log.txt", "w") as log:
            is_over = training.run(log, log)
        return training, is_over

    return run


def test_it_learns_what_spacy_train_learns(short_config, run, tmp_path):
    path = short_config["corpora"]["train"]["path"]
    # A reader whose order doesn't depend on the random numbers of others.
    short_config["corpora"]["train"] = {
        "@readers": "spacy-epnet.MixedCorpus.v1",
        "parts": {"all": {"path": path}},
        "endless": True,
    }
    short_config["training"]["max_epochs"] = -1
    training, is_over = run()
    assert is_over
    (tmp_path / "spacy").mkdir()
    nlp, _ = train_by_spacy(init_nlp(short_config), tmp_path / "spacy")
    assert get_weights(training.nlp) == get_weights(nlp)
    for name in ("model-last", "model-best"):
        ours = spacy.load(tmp_path / "run" / name)
        theirs = spacy.load(tmp_path / "spacy" / name)
        assert get_weights(ours) == get_weights(theirs)
        # Speed differs from run to run.
        scores = [nlp.meta["performance"] for nlp in (ours, theirs)]
        assert scores[0] == scores[1]


@pytest.mark.parametrize("stop_after", [1, 3, 7])
def test_an_interrupted_training_goes_on_to_the_last_bit(run, stop_after):
    whole, _ = run("whole")
    first, is_over = run("parts", stop_after=stop_after)
    assert not is_over
    assert first.progress.step == stop_after
    second, is_over = run("parts")
    assert is_over
    assert get_weights(second.nlp) == get_weights(whole.nlp)
    assert second.progress.results == whole.progress.results
    assert second.progress.words == whole.progress.words


def test_a_training_on_names_goes_on_to_the_last_bit(short_config, run):
    short_config["components"]["epnet_ner"]["model"]["names"] = True
    short_config["training"]["before_update"] = {
        "@callbacks": "spacy-epnet.encode_names.v1",
        "frequency": 5,
    }
    whole, _ = run("whole")
    pipe = whole.nlp.get_pipe("epnet_ner")
    assert pipe.learned["names"] == {"PERSON": ["PERSON"], "PLACE": ["PLACE"]}
    assert {*pipe.training_names} == {"PERSON", "PLACE"}
    run("parts", stop_after=7)
    resumed, is_over = run("parts")
    assert is_over
    assert get_weights(resumed.nlp) == get_weights(whole.nlp)


def test_it_goes_on_after_a_crash_from_the_last_checkpoint(run, monkeypatch):
    whole, _ = run("whole")
    update = Training._update

    def crash(self, batch, step, *rest):
        if step == 6:
            raise MemoryError
        update(self, batch, step, *rest)

    monkeypatch.setattr(loop.Training, "_update", crash)
    with pytest.raises(MemoryError):
        run("crashed")
    monkeypatch.setattr(loop.Training, "_update", update)
    training, _ = run("crashed")
    assert get_weights(training.nlp) == get_weights(whole.nlp)


def test_a_training_that_is_over_is_left_alone(run, tmp_path):
    training, _ = run()
    path = tmp_path / "run" / "checkpoint" / "progress.msgpack"
    before = path.stat().st_mtime_ns
    again = Training(training.nlp, tmp_path / "run")
    assert again.resume() == training.progress.step
    assert again.is_over
    assert path.stat().st_mtime_ns == before


def test_a_training_can_be_made_longer(run):
    short, _ = run("run", max_steps=5)
    assert short.progress.step == 6
    long, _ = run("run")
    assert long.nlp.config["training"]["max_steps"] == 12
    whole, _ = run("whole")
    assert get_weights(long.nlp) == get_weights(whole.nlp)


def test_it_is_over_when_all_passes_are_made(run):
    training, is_over = run(max_epochs=1, max_steps=0)
    assert is_over
    assert 1 < training.progress.step < 12
    again, is_over = run(max_epochs=1, max_steps=0)
    assert is_over
    assert again.progress.step == training.progress.step


def test_other_settings_are_refused(run):
    run("run", max_steps=3)
    with pytest.raises(ValueError, match="other settings"):
        run("run", dropout=0.5)


def test_a_damaged_checkpoint_is_reported(run, tmp_path):
    run("run", max_steps=3)
    path = tmp_path / "run" / "checkpoint" / "optimizer.safetensors"
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(ValueError, match="is damaged"):
        run("run")


def test_averages_are_kept(short_config, run):
    short_config["training"]["optimizer"]["use_averages"] = True
    whole, _ = run("whole")
    run("parts", stop_after=6)
    second, _ = run("parts")
    averages = [
        {
            place: training.optimizer.averages[key]
            for place, key in iter_positions(training.nlp)
            if key in training.optimizer.averages
        }
        for training in (whole, second)
    ]
    assert len(averages[0]) > 20
    assert list(averages[0]) == list(averages[1])
    for place, average in averages[0].items():
        numpy.testing.assert_array_equal(average, averages[1][place])


def test_a_second_interruption_ends_at_once():
    # Of a process in the background, the signal may be ignored from the start.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with catch_interruption() as interruption:
            signal.raise_signal(signal.SIGINT)
            assert interruption.is_asked_for
            with pytest.raises(KeyboardInterrupt):
                signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_the_command(short_config, tmp_path):
    short_config.to_disk(tmp_path / "train.cfg")
    output = tmp_path / "trained"
    args = ["epnet", "train", str(tmp_path / "train.cfg"), "--output", str(output)]

    def check(code, expected, *settings):
        result = CliRunner().invoke(app, [*args, *settings])
        assert result.exit_code == code, result.output
        assert expected in " ".join(result.output.split())

    check(0, "Begins anew", "--training.max_steps", "2")
    check(0, "Goes on after 3 steps")
    progress = srsly.read_msgpack(output / "checkpoint" / "progress.msgpack")
    assert progress["step"] == 13
    check(0, "over after 13 steps")
    check(1, "no.spacy", "--corpora.train.path", "no.spacy")
    check(1, "other settings", "--training.dropout", "0.5")


def test_memory_is_given_back_in_a_long_training(run, monkeypatch):
    given = []
    monkeypatch.setattr(loop, "return_memory", lambda: given.append(1))
    monkeypatch.setattr(loop, "TIDY_FREQUENCY", 5)
    run()
    assert len(given) == 2


def test_giving_memory_back_works_with_any_c_library(monkeypatch):
    return_memory()
    monkeypatch.setattr(processes.ctypes, "CDLL", lambda name: object())
    return_memory()
