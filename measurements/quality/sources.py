"""Sources that are trained in processes of their own, and their targets."""

import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path


def train_source(config: Path, folder: Path, settings: Mapping[str, str]) -> None:
    """Train a source, or go on with it. If it is trained already, nothing is done.
    Settings that differ from the config have names such as "--paths.train".
    """
    options = [word for pair in settings.items() for word in pair]
    command = [sys.executable, "-m", "spacy", "epnet", "train", str(config)]
    ended = subprocess.run([*command, "--output", str(folder), *options], check=False)
    if ended.returncode:
        # It has said why.
        sys.exit(ended.returncode)


def limit_steps(steps: int) -> dict[str, str]:
    """Return the settings of a training of another length, scored at its end."""
    schedule = "--training.optimizer.learn_rate"
    return {
        "--training.max_steps": str(steps),
        "--training.eval_frequency": str(steps),
        f"{schedule}.total_steps": str(steps),
        f"{schedule}.warmup_steps": str(steps // 20),
    }


def list_splits(folders: Iterable[Path]) -> list[Path]:
    """Dev and test corpus of each target, which is a folder."""
    return [each / f"{split}.spacy" for each in folders for split in ("dev", "test")]
