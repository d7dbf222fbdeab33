"""Episodes in several processes. Each has the source, and draws its episodes itself:
what one costs is many small steps, of which cores can't share out a single one well.
"""

from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .._compat import import_code, setup_gpu
from ..corpora.episodes import EpisodeSet, open_episodes
from ..errors import EvaluationError
from ..processes import belong_to_parent, count_cores, get_context
from ..sources.catalog import load_pipeline
from .benchmark import Profile
from .episode_benchmark import EpisodeBenchmark, Scoring


@dataclass(frozen=True)
class Task:
    """A benchmark of episodes, described for another process.

    model (str): The source pipeline.
    profile (Profile): How it is adapted.
    scoring (str): See `EpisodeBenchmark`.
    name (Optional[str]): The component.
    path (Path): The episodes, or the corpus that they are drawn from.
    count (Optional[int]): How many.
    draw (Dict[str, int]): How they are drawn.
    code (Optional[Path]): A Python file to import before.
    gpu (int): The GPU, or -1.
    """

    model: str
    profile: Profile
    scoring: Scoring
    name: str | None
    path: Path
    count: int | None
    draw: dict[str, int]
    code: Path | None
    gpu: int

    def begin(self) -> tuple[EpisodeBenchmark, EpisodeSet]:
        """Load the source and find the episodes."""
        import_code(self.code)
        setup_gpu(self.gpu, silent=True)
        nlp = load_pipeline(self.model)
        benchmark = EpisodeBenchmark(nlp, self.profile, self.scoring, self.name)
        return benchmark, open_episodes(self.path, self.count, self.draw)


def run_in_processes(
    task: Task, numbers: Iterable[int], processes: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Measure episodes in processes. The order is that in which they are done."""
    threads = max(1, count_cores() // processes)
    pool = ProcessPoolExecutor(processes, get_context(), _begin, (task, threads))
    try:
        for done in as_completed([pool.submit(_measure, number) for number in numbers]):
            yield done.result()
    except BrokenProcessPool:
        raise EvaluationError(
            "A process died. If memory is short, choose fewer --processes."
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


_begun: tuple[EpisodeBenchmark, EpisodeSet]


def _begin(task: Task, threads: int) -> None:
    """Get ready, in a process of its own."""
    import torch

    global _begun
    belong_to_parent()
    torch.set_num_threads(threads)
    _begun = task.begin()


def _measure(number: int) -> tuple[str, dict[str, Any]]:
    benchmark, episodes = _begun
    return str(number), benchmark.measure(episodes.get(number))
