"""Annotating on one machine, in processes beside this one."""

from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from queue import SimpleQueue

from .annotator import Recipe, Result, Results
from .inputs import Shard
from .worker import Worker

AHEAD = 1  # shards for each process that wait, so that none of them does


def run_local(shards: Iterable[Shard], recipe: Recipe, processes: int) -> Results:
    """Annotate shards in processes. No more are read than are needed to keep these
    busy.

    shards (Iterable[Shard]): The shards.
    recipe (Recipe): How.
    processes (int): How many.
    YIELDS (Tuple[int, int, Result]): What has become of each shard, in the order in
        which they are done.
    """
    workers = [Worker(recipe) for _ in range(processes)]
    idle: SimpleQueue[Worker] = SimpleQueue()
    for worker in workers:
        idle.put(worker)

    def annotate(shard: Shard) -> tuple[int, int, Result]:
        worker = idle.get()
        try:
            return shard.number, shard.size, worker.annotate(shard.items)
        finally:
            idle.put(worker)

    pool = ThreadPoolExecutor(processes)
    running: set[Future[tuple[int, int, Result]]] = set()
    try:
        for shard in shards:
            running.add(pool.submit(annotate, shard))
            while len(running) >= processes * (1 + AHEAD):
                done, running = wait(running, return_when=FIRST_COMPLETED)
                yield from (future.result() for future in done)
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            yield from (future.result() for future in done)
    finally:
        for worker in workers:
            worker.close()
        pool.shutdown(cancel_futures=True)
