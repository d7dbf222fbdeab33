"""The state of a training, so that it can resume where it stopped."""

import random
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy
import srsly
from spacy.language import Language
from thinc.api import Model, Optimizer, get_current_ops
from thinc.optimizers import KeyT

from .._compat import get_network
from ..recognizer.base import FewShotRecognizer
from ..writing import write_whole

PIPELINE, PROGRESS, RANDOM = "pipeline", "progress.msgpack", "random.msgpack"
OPTIMIZER, STATE = "optimizer.safetensors", "state.safetensors"
PARTS = {PIPELINE, PROGRESS, RANDOM, OPTIMIZER, STATE}


@dataclass
class Progress:
    """How far a training is."""

    config: str = ""
    step: int = 0  # the batches that have been learned from
    seconds: float = 0.0
    words: int = 0
    # Score and step of each evaluation, and the losses since the last one.
    results: list[tuple[float, int]] = field(default_factory=list)
    losses: dict[str, float] = field(default_factory=dict)
    updates: dict[str, int] = field(default_factory=dict)  # of each weight


class RepeatableBatches(Iterator[Any]):
    """Batches that are shuffled by random numbers of their own.

    Training on a batch uses up random numbers too. If both used the same, batches that
    a resumed training skips would be followed by others than before.
    """

    def __init__(self, batches: Iterator[Any]):
        self._batches = batches
        self._state = random.getstate()

    def __next__(self) -> Any:
        outside = random.getstate()
        random.setstate(self._state)
        try:
            return next(self._batches)
        finally:
            self._state = random.getstate()
            random.setstate(outside)


def save_checkpoint(
    folder: Path, nlp: Language, optimizer: Optimizer, progress: Progress
) -> None:
    """Save the state of a training in place of an earlier one, whole or not at all."""
    from safetensors.numpy import save_file

    positions = {key: place for place, key in iter_positions(nlp)}
    progress.updates = {positions[key]: n for key, n in optimizer.nr_update.items()}
    with write_whole(folder, may_replace=is_checkpoint) as path:
        path.mkdir()
        nlp.to_disk(path / PIPELINE)
        save_file(
            {
                f"{kind}/{positions[key]}": get_current_ops().to_numpy(values)
                for kind, moments in get_moments(optimizer).items()
                for key, values in moments.items()
            },
            path / OPTIMIZER,
        )
        save_file(
            {
                f"{name}/{key}": numpy.asarray(values)
                for name, recognizer in iter_recognizers(nlp)
                for key, values in recognizer.get_training_state().items()
            },
            path / STATE,
        )
        srsly.write_msgpack(path / RANDOM, get_random_state())
        srsly.write_msgpack(path / PROGRESS, asdict(progress))


def load_progress(folder: Path) -> Progress | None:
    """Load how far a training is, if one was saved."""
    path = folder / PROGRESS
    if not path.is_file():
        return None
    progress = Progress(**srsly.read_msgpack(path))
    progress.results = [(score, step) for score, step in progress.results]
    return progress


def load_checkpoint(
    folder: Path, nlp: Language, optimizer: Optimizer, progress: Progress
) -> None:
    """Restore the state of a training, into what its config has made."""
    from safetensors.numpy import load_file

    ops: Any = get_current_ops()

    # The settings are those of now. How long to train may have changed.
    nlp.from_disk(folder / PIPELINE, exclude=["config"])
    keys = dict(iter_positions(nlp))
    moments = get_moments(optimizer)
    for name, values in load_file(folder / OPTIMIZER).items():
        kind, _, place = name.partition("/")
        moments[kind][keys[place]] = ops.asarray(values)
    states: dict[str, dict[str, Any]] = {}
    for name, values in load_file(folder / STATE).items():
        component, _, key = name.partition("/")
        states.setdefault(component, {})[key] = values
    for component, recognizer in iter_recognizers(nlp):
        recognizer.set_training_state(states.get(component, {}))
    optimizer.nr_update.update({keys[p]: n for p, n in progress.updates.items()})
    for _ in range(progress.step):
        optimizer.step_schedules()
    set_random_state(srsly.read_msgpack(folder / RANDOM))


def is_checkpoint(folder: Path) -> bool:
    """Whether a folder is empty or has a checkpoint and nothing else."""
    return {path.name for path in folder.iterdir()} <= PARTS


def get_moments(optimizer: Optimizer) -> dict[str, dict[KeyT, Any]]:
    """Return the moments and averages of an optimizer."""
    moments = {"mom1": optimizer.mom1, "mom2": optimizer.mom2}
    averages = optimizer.averages
    return moments if averages is None else {**moments, "averages": averages}


def iter_recognizers(nlp: Language) -> Iterator[tuple[str, FewShotRecognizer]]:
    """Yield the few-shot recognizers of a pipeline, with their names."""
    for name, pipe in nlp.pipeline:
        if isinstance(pipe, FewShotRecognizer):
            yield name, pipe


def iter_positions(nlp: Language) -> Iterator[tuple[str, KeyT]]:
    """Name all weights of a pipeline by their positions, because the numbers by which
    an optimizer knows them differ from one process to the next.
    """
    for component, pipe in nlp.pipeline:
        model = getattr(pipe, "model", None)
        for i, node in enumerate(model.walk() if isinstance(model, Model) else ()):
            for name in node.param_names:
                yield f"{component}/{i}/{name}", (node.id, name)
            for j, shim in enumerate(node.shims):
                network = get_network(shim)
                for name, _ in network.named_parameters() if network else ():
                    yield f"{component}/{i}/{j}/{name}", (shim.id, name)


def get_random_state() -> dict[str, Any]:
    """Return the state of all random generators, in terms of MessagePack."""
    import torch

    state: Any = numpy.random.get_state()  # noqa: NPY002
    kind, keys, *rest = state
    return {
        "python": random.getstate(),
        "numpy": [kind, keys.tolist(), *rest],
        "torch": torch.get_rng_state().numpy().tobytes(),
    }


def set_random_state(state: dict[str, Any]) -> None:
    """Restore the state of all random generators."""
    import torch

    version, numbers, gauss = state["python"]
    random.setstate((version, tuple(numbers), gauss))
    numpy.random.set_state(tuple(state["numpy"]))  # noqa: NPY002
    torch.set_rng_state(torch.frombuffer(bytearray(state["torch"]), dtype=torch.uint8))
