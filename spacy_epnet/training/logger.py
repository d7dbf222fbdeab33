"""Training logs that show the parts of a loss."""

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import IO, Any, TypeAlias

from spacy.language import Language
from spacy.training.loggers import console_logger_v3

LogStep: TypeAlias = Callable[[dict[str, Any] | None], None]
SetupPrinter: TypeAlias = Callable[..., tuple[LogStep, Callable[[], None]]]


def make_console_logger(
    progress_bar: str | None = None,
    console_output: bool = True,
    output_file: str | None = None,
) -> SetupPrinter:
    """Make spaCy's console logger, with a column for each part of a loss.

    progress_bar (Optional[str]): "train" or "eval" for a progress bar up to the end
        of the training or to the next evaluation.
    console_output (bool): Whether to print the log.
    output_file (Optional[str]): Where to save the log as JSON Lines as well.
    """
    setup_logger = console_logger_v3(progress_bar, console_output, output_file)

    def setup_printer(
        nlp: Language, stdout: IO[str] = sys.stdout, stderr: IO[str] = sys.stderr
    ) -> tuple[LogStep, Callable[[], None]]:
        parts = _get_loss_parts(nlp)
        # spaCy's logger prints the loss of everything it takes for a trainable
        # component, so the parts are shown to it as components.
        pipeline = [*nlp.pipeline, *((part, pipe) for part, (_, pipe) in parts.items())]
        view: Any = SimpleNamespace(pipeline=pipeline, config=nlp.config)
        log_step, finalize = setup_logger(view, stdout, stderr)

        def log_step_with_parts(info: dict[str, Any] | None) -> None:
            if info is not None:
                losses = info["losses"]
                shown = {part: losses.get(key, 0.0) for part, (key, _) in parts.items()}
                info = {**info, "losses": {**losses, **shown}}
            log_step(info)

        return log_step_with_parts, finalize

    return setup_printer


def _get_loss_parts(nlp: Language) -> dict[str, tuple[str, Any]]:
    """Find the parts of the pipeline's losses, by names short enough for a column."""
    pipes = [pipe for _, pipe in nlp.pipeline if hasattr(pipe, "loss_parts")]
    parts = {}
    for i, pipe in enumerate(pipes, 1):
        suffix = f" {i}" if len(pipes) > 1 else ""
        for part, key in pipe.loss_parts.items():
            parts[part + suffix] = key, pipe
    return parts
