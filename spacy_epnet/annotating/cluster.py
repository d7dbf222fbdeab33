"""Annotating on Ray: a laptop, or the machines of a cluster.

One task reads, on the machine where the command runs. Actors annotate, each with a
process of its own, and Ray starts them again elsewhere if their machine is lost. What
they make comes back and is written here, so that no files need to be shared.
"""

import logging
import os
import pickle
import shutil
import sys
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from time import time
from typing import Any

from ..errors import CorpusError, MissingExtraError
from ..sources.catalog import list_pipeline_files
from .annotator import Recipe, Result, Results
from .folder import lock
from .inputs import Shard, Source
from .worker import Worker

CODE = "code.py"
MODEL = "model"
PREFIX = "spacy-epnet-"
SETTLED = 60  # seconds after which an actor has locked its folder


def run_on_ray(
    source: Source,
    done: Collection[int],
    recipe: Recipe,
    *,
    processes: int | None,
    address: str | None,
) -> Results:
    """Annotate the shards of an input on Ray.

    source (Source): The input.
    done (Collection[int]): The shards that are done already.
    recipe (Recipe): How.
    processes (Optional[int]): How many actors there are. As many as there is room for
        by default.
    address (Optional[str]): The cluster, "auto" for the one that this machine is part
        of. By default this machine alone.
    YIELDS (Tuple[int, int, Result]): What has become of each shard, in the order in
        which they are done.
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
        results = make_dataset(source, done, recipe, processes)
        for row in results.iter_rows():
            # Of our own actors, whom Ray lets run code anyway.
            number, size, result = pickle.loads(row["result"])
            if isinstance(result, ValueError):
                raise result
            yield number, size, result
    finally:
        if is_ours:
            ray.shutdown()


def import_ray() -> Any:
    try:
        import ray
        import ray.data
    except ImportError as err:
        raise MissingExtraError(
            "The engine 'ray' needs Ray: pip install 'spacy-epnet[ray]'"
        ) from err
    return ray


def make_dataset(
    source: Source, done: Collection[int], recipe: Recipe, processes: int | None
) -> Any:
    """Say to Ray what is to be done.

    RETURNS (ray.data.Dataset): The results, each pickled in a row.
    """
    import ray

    context = ray.data.DataContext.get_current()
    context.enable_progress_bars = False
    context.target_max_block_size = 1  # each shard goes to an actor by itself
    here = {"ray.io/node-id": ray.get_runtime_context().get_node_id()}
    resources = ray.cluster_resources()
    gpus = int(resources.get("GPU", 0))
    room = gpus or max(1, int(resources["CPU"]) // recipe.threads)
    shards = ray.data.read_datasource(
        make_datasource(source, done),
        override_num_blocks=1,
        label_selector=here,
        num_cpus=0,
    )
    luggage = ray.put(pack(recipe._replace(gpu=0 if gpus else -1)))
    return shards.map_batches(
        RayAnnotator,
        fn_constructor_args=(luggage,),
        batch_size=1,
        batch_format="pyarrow",
        compute=ray.data.ActorPoolStrategy(
            min_size=1, max_size=processes, initial_size=min(processes or room, room)
        ),
        num_cpus=0 if gpus else recipe.threads,
        num_gpus=1 if gpus else None,
    )


def make_datasource(source: Source, done: Collection[int]) -> Any:
    """The shards of an input, for Ray.

    source (Source): The input.
    done (Collection[int]): The shards that are done already.
    RETURNS (ray.data.Datasource): Reads them in one task, as a stream.
    """
    from ray.data.block import BlockMetadata
    from ray.data.datasource import Datasource, ReadTask

    folder = os.getcwd()

    def read() -> Iterator[Any]:
        os.chdir(folder)
        for shard in source.read(set(done).__contains__):
            yield make_row("shard", shard)

    class ShardSource(Datasource):
        def estimate_inmemory_data_size(self) -> int:
            return source.get_size()

        def get_read_tasks(
            self,
            parallelism: int,
            per_task_row_limit: int | None = None,
            data_context: Any = None,
        ) -> list[ReadTask]:
            size = source.get_size()
            metadata = BlockMetadata(
                num_rows=None, size_bytes=size, input_files=None, exec_stats=None
            )
            return [ReadTask(read, metadata)]

    return ShardSource()


def make_row(name: str, value: Any) -> Any:
    """One thing as a table of one row.

    RETURNS (pyarrow.Table): The table.
    """
    import pyarrow

    data = pyarrow.array([pickle.dumps(value)], pyarrow.large_binary())
    return pyarrow.table({name: data})


class RayAnnotator:
    """An actor that annotates.

    luggage (ObjectRef): What `pack` made.
    """

    def __init__(self, luggage: Any):
        import ray

        remove_left_overs(Path(gettempdir()))
        self.folder = TemporaryDirectory(prefix=PREFIX)
        self.lock = lock(Path(self.folder.name))
        self.lock.__enter__()  # as long as the process lives
        recipe = unpack(ray.get(luggage), Path(self.folder.name))
        self.worker = Worker(recipe)

    def __call__(self, batch: Any) -> Any:
        shard: Shard = pickle.loads(batch["shard"][0].as_py())
        try:
            result: Result | ValueError = self.worker.annotate(shard.items)
        except ValueError as err:
            # Ray would give it another chance, and a message that nobody can read.
            result = err
        return make_row("result", (shard.number, shard.size, result))


def remove_left_overs(folder: Path) -> None:
    """Remove what actors that were killed have left on this machine.

    folder (Path): Where they put down what they had with them.
    """
    if sys.platform == "win32":
        return  # without locks, nobody knows who is gone
    for path in folder.glob(f"{PREFIX}*"):
        with suppress(OSError, CorpusError):
            # One that has just begun may have no lock yet.
            if time() - path.stat().st_mtime > SETTLED:
                with lock(path):
                    shutil.rmtree(path)


def pack(recipe: Recipe) -> tuple[Recipe, dict[str, bytes]]:
    """Take along what other machines don't have: the pipeline, unless it is an
    installed package, and the code to import.
    """
    files: dict[str, bytes] = {}
    model = Path(recipe.model)
    if model.is_dir():
        for path in list_pipeline_files(model):
            name = f"{MODEL}/{path.relative_to(model).as_posix()}"
            files[name] = path.read_bytes()
    if recipe.code is not None:
        files[CODE] = Path(recipe.code).read_bytes()
    return recipe, files


def unpack(luggage: tuple[Recipe, dict[str, bytes]], folder: Path) -> Recipe:
    """Put down what was taken along.

    luggage (Tuple[Recipe, Dict[str, bytes]]): What `pack` made.
    folder (Path): Where.
    RETURNS (Recipe): The recipe, with the places where things are now.
    """
    recipe, files = luggage
    for name, data in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(data)
    if (folder / MODEL).exists():
        recipe = recipe._replace(model=str(folder / MODEL))
    if recipe.code is not None:
        recipe = recipe._replace(code=str(folder / CODE))
    return recipe
