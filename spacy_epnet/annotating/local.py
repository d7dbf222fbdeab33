"""Annotate on this machine, in processes that are started again if they die."""

import threading
from collections.abc import Iterable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from queue import SimpleQueue

from ..errors import AnnotationError
from ..processes import belong_to_parent, get_context
from .annotator import Annotator, Recipe, Result, Results
from .input_formats import Item
from .inputs import Shard

ATTEMPTS = 3
AHEAD = 1  # shards for each process that wait, so that none of them does


class WorkerDied(Exception):
    """A process ended without a result."""


def work(connection: Connection, recipe: Recipe) -> None:
    """Annotate records from a connection until it is closed."""
    belong_to_parent()
    try:
        annotator = Annotator(recipe)
    except Exception as err:
        connection.send(AnnotationError(str(err) or repr(err)))
        return
    connection.send(None)
    while True:
        try:
            items = connection.recv()
        except EOFError:
            return
        try:
            answer: Result | AnnotationError = annotator.annotate(items)
        except Exception as err:
            answer = AnnotationError(f"Can't annotate: {err!r}")
        connection.send(answer)


class Worker:
    """Annotate in a process, which is started again if it dies."""

    def __init__(self, recipe: Recipe):
        self.recipe = recipe
        self.is_closed = False
        self.exit_code: int | None = None  # of the process that died last
        self._process: BaseProcess | None = None
        self._connection: Connection | None = None
        self._lock = threading.Lock()  # closing may come from another thread

    def annotate(self, items: list[Item]) -> Result:
        """Annotate records, and reject those with which the process dies again and
        again.
        """
        result = self._try(items, ATTEMPTS)
        if result is not None:
            return result
        deadly = {item.id for item in self._find_deadly(items)}
        reason = f"the process that annotated it died {ATTEMPTS} times"
        # If no record is deadly, all of them together are.
        marked = [
            item._replace(reason=reason) if item.id in deadly or not deadly else item
            for item in items
        ]
        result = self._try(marked, ATTEMPTS)
        if result is None:
            raise self._make_error()
        return result

    def _find_deadly(self, items: list[Item]) -> list[Item]:
        if self._try(items, ATTEMPTS if len(items) == 1 else 1) is not None:
            return []
        if len(items) == 1:
            return items
        half = len(items) // 2
        return self._find_deadly(items[:half]) + self._find_deadly(items[half:])

    def _try(self, items: list[Item], attempts: int) -> Result | None:
        """Annotate records, or return None if the process dies at each attempt."""
        for _ in range(attempts):
            if self._process is None:
                self._start()
            try:
                return self._ask(items)
            except WorkerDied:
                self._end()
        return None

    def _start(self) -> None:
        """Start the process, and wait for the pipeline to load."""
        for _ in range(ATTEMPTS):
            try:
                self._launch()
                self._ask()
            except WorkerDied:
                self._end()
            except AnnotationError:
                self._end()
                raise
            else:
                return
        raise self._make_error()

    def _make_error(self) -> AnnotationError:
        return AnnotationError(
            "A process that annotates died again and again (exit code "
            f"{self.exit_code}), and not for a certain record. If it is -9, memory may "
            "be short: choose fewer --processes."
        )

    def _launch(self) -> None:
        with self._lock:
            if self.is_closed:
                raise WorkerDied
            context = get_context()
            self._connection, theirs = context.Pipe()
            arguments = (theirs, self.recipe)
            process = context.Process(target=work, args=arguments, daemon=True)
            process.start()
            self._process = process
            theirs.close()

    def _ask(self, items: list[Item] | None = None) -> Result | None:
        """Send records to the process, if any, and return its answer."""
        assert self._connection is not None
        try:
            if items is not None:
                self._connection.send(items)
            answer: Result | AnnotationError | None = self._connection.recv()
        except (EOFError, OSError) as err:
            raise WorkerDied from err
        if isinstance(answer, AnnotationError):
            raise answer
        return answer

    def _end(self) -> None:
        with self._lock:
            if self._process is not None and self._connection is not None:
                self._process.join(timeout=1)  # to know its exit code
                self._process.kill()
                self._process.join()
                self.exit_code = self._process.exitcode
                self._connection.close()
                self._process = None

    def close(self) -> None:
        """Kill the process."""
        with self._lock:
            self.is_closed = True
            if self._process is not None:
                self._process.kill()
                self._process.join()


def run_local(shards: Iterable[Shard], recipe: Recipe, processes: int) -> Results:
    """Annotate shards in processes, in the order in which they are done, and read only
    as many as keep these busy.
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
