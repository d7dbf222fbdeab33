"""Training that resumes where it stopped, with the results of `spacy train`."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from time import perf_counter
from typing import IO, Any

from safetensors import SafetensorError
from spacy import registry
from spacy.language import Language
from spacy.schemas import ConfigSchemaTraining
from spacy.training import Example
from spacy.training.loop import (
    DIR_MODEL_BEST,
    DIR_MODEL_LAST,
    create_before_to_disk_callback,
    create_evaluation_callback,
    create_train_batches,
    subdivide_batch,
    update_meta,
)
from spacy.util import fix_random_seed, resolve_dot_names
from thinc.api import Config, constant
from tqdm import tqdm

from ..errors import LoadingError
from ..processes import return_memory
from ..recognizer.pipeline import is_pipeline
from ..signals import Interruption, catch_interruption
from ..writing import check_places, check_replaceable, write_whole
from .checkpoint import (
    Progress,
    RepeatableBatches,
    is_checkpoint,
    load_checkpoint,
    load_progress,
    save_checkpoint,
)

CHECKPOINT = "checkpoint"
# Steps after which free memory is given back, which takes a fraction of a step.
TIDY_FREQUENCY = 50


class Training:
    """A training, as the config of an initialized pipeline says. In the output folder
    are the checkpoint, the best and the last pipeline.
    """

    def __init__(self, nlp: Language, output: Path):
        self.nlp, self.output = nlp, output
        config = nlp.config.interpolate()
        check_training_places(output, config)
        if config["training"]["seed"] is not None:
            fix_random_seed(config["training"]["seed"])
        self.settings: dict[str, Any] = registry.resolve(
            config["training"], schema=ConfigSchemaTraining
        )
        names = [self.settings["train_corpus"], self.settings["dev_corpus"]]
        corpus, dev_corpus = resolve_dot_names(config, names)
        self.optimizer = self.settings["optimizer"]
        batcher, max_epochs = self.settings["batcher"], self.settings["max_epochs"]
        self.batches = RepeatableBatches(
            create_train_batches(nlp, corpus, batcher, max_epochs)
        )
        self.evaluate = create_evaluation_callback(
            nlp, dev_corpus, self.settings["score_weights"]
        )
        self.progress = Progress(describe_training(nlp))
        self.has_seen_all = False  # `max_epochs` times

    @property
    def is_over(self) -> bool:
        """RETURNS (bool): Whether there is nothing more to learn."""
        step, limit = self.progress.step - 1, self.settings["max_steps"]
        patience, results = self.settings["patience"], self.progress.results
        # As in spaCy, the earliest of the best evaluations counts.
        best = -max(((score, -at) for score, at in results), default=(0, 0))[1]
        is_long = limit and step >= limit
        is_futile = patience and step - best >= patience
        return bool(is_long or is_futile or self.has_seen_all)

    def resume(self) -> int:
        """Resume where an earlier run has stopped, after some steps."""
        folder = self.output / CHECKPOINT
        with report_damage(folder):
            progress = load_progress(folder)
        if progress is None:
            return 0
        if progress.config != self.progress.config:
            raise LoadingError(
                f"The checkpoint in '{folder}' is of a training with other settings. "
                "Go on with the settings that it had, choose another output folder, or "
                "remove the checkpoint to begin anew."
            )
        passed = islice(self.batches, progress.step)
        for _ in tqdm(passed, "Passing over", progress.step, disable=None, leave=False):
            pass
        with report_damage(folder):
            load_checkpoint(folder, self.nlp, self.optimizer, progress)
        self.progress = progress
        return progress.step

    def run(self, stdout: IO[str], stderr: IO[str]) -> bool:
        """Train until it is over, or interrupted. Return whether it is over."""
        nlp, frozen = self.nlp, self.settings["frozen_components"]
        with nlp.select_pipes(disable=frozen):
            log_step, finish_log = self.settings["logger"](nlp, stdout, stderr)
        try:
            with catch_interruption() as interruption:
                for info, is_best in self._iter_steps(interruption):
                    if is_best is None:
                        log_step(None)
                        continue
                    with nlp.select_pipes(disable=frozen):
                        update_meta(self.settings, nlp, info)
                    self._save_pipeline(DIR_MODEL_LAST)
                    if is_best:
                        self._save_pipeline(DIR_MODEL_BEST)
                    log_step(info)
                    self.progress.losses = {}
                    self._save()
                if self.is_over:
                    self._save_pipeline(DIR_MODEL_LAST)
                self._save()
        finally:
            finish_log()
        return self.is_over

    def _iter_steps(
        self, interruption: Interruption
    ) -> Iterator[tuple[dict[str, Any], bool | None]]:
        progress, begin = self.progress, perf_counter() - self.progress.seconds
        dropout = self.settings["dropout"]
        dropouts: Any = constant(dropout) if isinstance(dropout, float) else dropout
        for _ in range(progress.step):
            next(dropouts)
        while not self.is_over and not interruption.is_asked_for:
            found = next(self.batches, None)
            if found is None:
                self.has_seen_all = True
                break
            epoch, batch = found
            step = progress.step
            self._update(batch, step, epoch, next(dropouts))
            progress.step += 1
            progress.words += sum(len(eg) for eg in batch)
            if not progress.step % TIDY_FREQUENCY:
                return_memory()
            progress.seconds = perf_counter() - begin
            score = scores = is_best = None
            if not step % self.settings["eval_frequency"]:
                with self._use_averages():
                    score, scores = self.evaluate()
                progress.results.append((score, step))
                is_best = score == max(progress.results)[0]
            info = {
                "epoch": epoch,
                "step": step,
                "score": score,
                "other_scores": scores,
                "losses": progress.losses,
                "checkpoints": progress.results,
                "seconds": int(progress.seconds),
                "words": progress.words,
            }
            yield info, is_best

    def _update(
        self, batch: list[Example], step: int, epoch: int, dropout: float
    ) -> None:
        before = self.settings["before_update"]
        frozen = self.settings["frozen_components"]
        if before:
            before(self.nlp, {"step": step, "epoch": epoch})
        for part in subdivide_batch(batch, self.settings["accumulate_gradient"]):
            self.nlp.update(
                part,
                drop=dropout,
                losses=self.progress.losses,
                sgd=False,  # type: ignore[arg-type]
                exclude=frozen,
                annotates=self.settings["annotating_components"],
            )
        pipe: Any
        for name, pipe in self.nlp.pipeline:
            if name not in frozen and getattr(pipe, "is_trainable", False):
                pipe.finish_update(self.optimizer)
        self.optimizer.step_schedules()

    def _use_averages(self) -> Any:
        averages = self.optimizer.averages
        return self.nlp.use_params(averages) if averages else nullcontext()

    def _save_pipeline(self, name: str) -> None:
        change = create_before_to_disk_callback(self.settings["before_to_disk"])
        with (
            self._use_averages(),
            write_whole(self.output / name, may_replace=is_pipeline) as path,
        ):
            change(self.nlp).to_disk(path)

    def _save(self) -> None:
        save_checkpoint(
            self.output / CHECKPOINT, self.nlp, self.optimizer, self.progress
        )


@contextmanager
def report_damage(checkpoint: Path) -> Iterator[None]:
    """Say what to do about a checkpoint that can't be loaded."""
    try:
        yield
    except (OSError, ValueError, KeyError, TypeError, SafetensorError) as err:
        raise LoadingError(
            f"The checkpoint in '{checkpoint}' is damaged: {err}. Remove it to begin "
            "anew."
        ) from err


def check_training_places(output: Path, config: Config) -> None:
    """Refuse to train to a folder in which something else would be replaced."""
    kinds = {
        DIR_MODEL_BEST: is_pipeline,
        DIR_MODEL_LAST: is_pipeline,
        CHECKPOINT: is_checkpoint,
    }
    log = config["training"]["logger"].get("output_file")
    made = [*(output / name for name in kinds), log and Path(log)]
    named = [path for path in config["paths"].values() if isinstance(path, str)]
    check_places(made, [*named, *list_paths(config)])
    for name, may_replace in kinds.items():
        check_replaceable(output / name, may_replace)


def list_paths(section: Any) -> Iterator[str]:
    """Find files and folders among settings, but for logs."""
    if isinstance(section, dict):
        for key, value in section.items():
            if key != "output_file":
                yield from list_paths(value)
    elif isinstance(section, str) and (os.sep in section or Path(section).suffix):
        yield section


def describe_training(nlp: Language) -> str:
    """Describe all settings that weights depend on, but not for how long is trained, to
    which the learning rate belongs: it is to fall until the end.
    """
    config = nlp.config.interpolate().copy()
    for key in ("max_steps", "eval_frequency", "patience", "logger"):
        config["training"].pop(key, None)
    config["training"]["optimizer"].pop("learn_rate", None)
    return config.to_str()
