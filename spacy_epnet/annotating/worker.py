"""Processes that annotate, and what is done if one dies."""

import threading
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from typing import Any

from ..errors import AnnotationError
from ..processes import belong_to_parent, get_context
from .annotator import Annotator, Recipe, Result
from .records import Item

ATTEMPTS = 3


class WorkerDied(Exception):
    """A process ended without an answer."""


class Closed(Exception):
    """The work is over, and nobody waits for an answer any more."""


def work(connection: Connection, recipe: Recipe) -> None:
    """Annotate what comes, until nothing comes any more."""
    belong_to_parent()
    try:
        annotator = Annotator(recipe)
    except Exception as err:
        connection.send(str(err) or repr(err))
        return
    connection.send(None)
    while True:
        try:
            items = connection.recv()
        except EOFError:
            return
        try:
            answer: Result | str = annotator.annotate(items)
        except Exception as err:
            answer = repr(err)
        connection.send(answer)


class Worker:
    """A process that has a pipeline, and gets another life if it dies.

    recipe (Recipe): What it is to do.
    """

    def __init__(self, recipe: Recipe):
        self.recipe = recipe
        self.is_closed = False
        self.exit_code: int | None = None  # of the process that died last
        self._process: BaseProcess | None = None
        self._connection: Any = None
        self._lock = threading.Lock()  # closing may come from another thread

    def annotate(self, items: list[Item]) -> Result:
        """Annotate records. Those with which the process dies again and again are
        rejected.

        items (List[Item]): The records.
        RETURNS (Result): What has become of them.
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
        for _ in range(attempts):
            try:
                return self._ask(items)
            except WorkerDied:
                self._end()
        return None

    def _ask(self, items: list[Item]) -> Result:
        self.start()
        answer = self._exchange(lambda: self._connection.send(items))
        if isinstance(answer, str):
            raise AnnotationError(f"Can't annotate: {answer}")
        return answer

    def start(self) -> None:
        """See that there is a process, and that it has loaded the pipeline."""
        for attempt in range(1, ATTEMPTS + 1):
            if self._process is not None:
                return
            try:
                problem = self._exchange(self._launch)
            except WorkerDied as err:
                self._end()
                if attempt == ATTEMPTS:
                    raise self._make_error() from err
            else:
                if problem is not None:
                    self._end()
                    raise AnnotationError(problem)

    def _make_error(self) -> AnnotationError:
        return AnnotationError(
            "A process that annotates died again and again (exit code "
            f"{self.exit_code}), and not for a certain record. If it is -9, memory may "
            "be short: choose fewer --processes."
        )

    def _launch(self) -> None:
        with self._lock:
            if self.is_closed:
                raise Closed
            context = get_context()
            self._connection, theirs = context.Pipe()
            arguments = (theirs, self.recipe)
            self._process = context.Process(target=work, args=arguments, daemon=True)
            self._process.start()
            theirs.close()

    def _exchange(self, ask: Callable[[], object]) -> Any:
        try:
            ask()
            return self._connection.recv()
        except (EOFError, OSError) as err:
            if self.is_closed:
                raise Closed from err
            raise WorkerDied from err

    def _end(self) -> None:
        with self._lock:
            if self._process is not None:
                self._process.join(timeout=1)  # to know what it died of
                self._process.kill()
                self._process.join()
                self.exit_code = self._process.exitcode
                self._connection.close()
                self._process = None

    def close(self) -> None:
        """End the process, whatever it does."""
        with self._lock:
            self.is_closed = True
            if self._process is not None:
                self._process.kill()
                self._process.join()
