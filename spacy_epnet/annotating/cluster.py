"""Annotate with Ray, on a laptop or on the machines of a cluster.

One task reads, on the machine where the command runs. Actors annotate, each with a
process of its own, and Ray restarts them elsewhere if their machine is lost. Results
are sent back and written here, so that no files need to be shared.
"""

import logging
import os
import pickle
import shutil
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from time import time
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import CorpusError, MissingExtraError
from ..sources.catalog import list_pipeline_files
from ..writing import is_own_folder
from .annotator import Recipe, Result, Results
from .folder import lock
from .inputs import Input, Shard
from .local import Worker

if TYPE_CHECKING:
    import pyarrow

CODE = "code.py"
MODEL = "model"
PREFIX = "spacy-epnet-"
SETTLED = 60  # seconds after which an actor has locked its folder


class Payload(NamedTuple):
    """A recipe, and the files of it that other machines don't have, by name."""

    recipe: Recipe
    files: dict[str, bytes]


def run_on_ray(
    records: Input,
    done: Collection[int],
    recipe: Recipe,
    *,
    processes: int | None,
    address: str | None,
) -> Results:
    """Annotate on Ray the shards of an input that aren't done, by default in as many
    actors as the cluster has resources for.
    """
    ray = import_ray()
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    is_ours = not ray.is_initialized()
    if is_ours:
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        ray.init(
            address=address or "local", log_to_driver=False, logging_level="warning"
        )
    try:
        results = make_dataset(records, done, recipe, processes)
        for row in results.iter_rows():
            # From our own actors, which Ray lets run code anyway.
            number, size, result = pickle.loads(row["result"])
            if isinstance(result, ValueError):
                raise result
            yield number, size, result
    finally:
        if is_ours:
            ray.shutdown()


def import_ray() -> Any:
    """Import Ray, or say how to install it."""
    try:
        import ray
        import ray.data
    except ImportError as err:
        raise MissingExtraError(
            "The engine 'ray' needs Ray: pip install 'spacy-epnet[ray]'"
        ) from err
    return ray


def make_dataset(
    records: Input, done: Collection[int], recipe: Recipe, processes: int | None
) -> Any:
    """Make a dataset of pickled results, which Ray computes when it is read."""
    import ray

    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.target_max_block_size = 1  # one shard in a block
    here = {"ray.io/node-id": ray.get_runtime_context().get_node_id()}
    resources = ray.cluster_resources()
    gpus = int(resources.get("GPU", 0))
    room = gpus or max(1, int(resources["CPU"]) // recipe.threads)
    shards = ray.data.read_datasource(
        make_datasource(records, done),
        override_num_blocks=1,
        label_selector=here,
        num_cpus=0,
    )
    payload = ray.put(make_payload(recipe._replace(gpu=0 if gpus else -1)))
    return shards.map_batches(
        RayAnnotator,
        fn_constructor_args=(payload,),
        batch_size=1,
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(
            min_size=1, max_size=processes, initial_size=min(processes or room, room)
        ),
        num_cpus=0 if gpus else recipe.threads,
        num_gpus=1 if gpus else None,
    )


def make_datasource(records: Input, done: Collection[int]) -> Any:
    """Make a datasource of shards, which reads them in one task, as a stream."""
    from ray.data.block import BlockMetadata
    from ray.data.datasource import Datasource, ReadTask

    folder = os.getcwd()

    def read() -> Iterator[Any]:
        os.chdir(folder)
        for shard in records.read(done):
            yield make_row("shard", shard)

    class Shards(Datasource):  # type: ignore[misc, unused-ignore]
        def estimate_inmemory_data_size(self) -> int:
            return records.get_size()

        def get_read_tasks(
            self,
            parallelism: int,
            per_task_row_limit: int | None = None,
            data_context: Any = None,
        ) -> list[ReadTask]:
            size = records.get_size()
            metadata = BlockMetadata(
                num_rows=None, size_bytes=size, input_files=None, exec_stats=None
            )
            return [ReadTask(read, metadata)]

    return Shards()


def make_row(name: str, value: object) -> "pyarrow.Table":
    """Pickle a value into a table of one row."""
    import pyarrow

    data = pyarrow.array([pickle.dumps(value)], pyarrow.large_binary())
    return pyarrow.table({name: data})


class RayAnnotator:
    """Annotate shards in an actor."""

    def __init__(self, payload: Any):  # a reference to it
        import ray

        remove_left_overs(Path(gettempdir()))
        self.folder = TemporaryDirectory(prefix=PREFIX)
        self.lock = lock(Path(self.folder.name))
        self.lock.__enter__()  # as long as the process lives
        recipe = unpack_payload(ray.get(payload), Path(self.folder.name))
        self.worker = Worker(recipe)

    def __call__(self, batch: "pyarrow.Table") -> "pyarrow.Table":
        shard: Shard = pickle.loads(batch["shard"][0].as_py())
        try:
            result: Result | ValueError = self.worker.annotate(shard.items)
        except ValueError as err:
            # Ray would try again, and then report it in an unreadable way.
            result = err
        return make_row("result", (shard.number, shard.size, result))


def remove_left_overs(folder: Path) -> None:
    """Remove the folders of actors that were killed on this machine."""
    for path in filter(is_own_folder, folder.glob(f"{PREFIX}*")):
        with suppress(OSError, CorpusError):
            # One that has just begun may have no lock yet. Clocks may be set back.
            if abs(time() - path.stat().st_mtime) > SETTLED:
                with lock(path):
                    shutil.rmtree(path)


def make_payload(recipe: Recipe) -> Payload:
    """Collect the files of a recipe that other machines don't have: the pipeline,
    unless it is an installed package, and the code to import.
    """
    files: dict[str, bytes] = {}
    model = Path(recipe.model)
    if model.is_dir():
        for path in list_pipeline_files(model):
            files[f"{MODEL}/{path.relative_to(model).as_posix()}"] = path.read_bytes()
    if recipe.code is not None:
        files[CODE] = Path(recipe.code).read_bytes()
    return Payload(recipe, files)


def unpack_payload(payload: Payload, folder: Path) -> Recipe:
    """Write the files of a payload, and return the recipe with their paths."""
    recipe, files = payload
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    if (folder / MODEL).exists():
        recipe = recipe._replace(model=str(folder / MODEL))
    if recipe.code is not None:
        recipe = recipe._replace(code=str(folder / CODE))
    return recipe
