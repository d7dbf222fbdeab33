"""Time two versions in turns."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from operator import call
from statistics import median

from ..speed.measuring import compare, show, take_turns
from ..speed.setup import Table
from .checkout import Checkout, Run, Versions
from .material import read_target

MOST = 1.03
# spaCy is imported before, which takes longer and varies by more.
IMPORT = """
import spacy, time
start = time.perf_counter()
import spacy_epnet
from spacy_epnet import adapt, load_source
print(time.perf_counter() - start)
"""


def compare_speed(setup: Versions) -> Iterator[Table]:
    """Time recognition, adapting, loading and import, each version in turn."""
    target = read_target("demo", setup.corpora, 150)
    case = {"support": target.draw(5, 0), "test": target.test}
    n_blocks = 6 if setup.quick else 30
    texts = read_target("wnut17", setup.corpora, 1200).test
    rounds: dict[str, list[dict[str, object]]] = {
        "recognition": [
            {"work": "recognition", "texts": texts[i * 200 % 1200 :][:200]}
            for i in range(n_blocks)
        ],
        "adapting": [{"work": "adapting"}] * n_blocks,
        "loading": [{"work": "loading"}] * n_blocks,
    }
    for source in setup.sources:
        request = {"source": source, "encoders": setup.encoders, "case": case}
        with (
            setup.old.start("time", **request) as old,
            setup.new.start("time", **request) as new,
        ):
            timers = {"old": make_timer(old), "new": make_timer(new)}
            seconds = {
                work: take_turns(timers, blocks, measure=call)
                for work, blocks in rounds.items()
            }
        yield make_table(f"speed, source {source}", seconds)
    timers = {
        "old": lambda block: time_import(setup.old),
        "new": lambda block: time_import(setup.new),
    }
    seconds = {"import": take_turns(timers, [{}] * n_blocks, measure=call)}
    yield make_table("speed, import", seconds)


def make_timer(run: Run) -> Callable[[dict[str, object]], float]:
    """Make a function that lets a running task time a block, once it is ready."""
    run.read()

    def time_block(block: dict[str, object]) -> float:
        run.send(block)
        return float(run.read()["seconds"])

    return time_block


def time_import(checkout: Checkout) -> float:
    """Return the seconds that a new process needs to import the package."""
    result = subprocess.run(
        [sys.executable, "-P", "-c", IMPORT],
        cwd=checkout.path,
        env=checkout.environment,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return float(result.stdout.split()[-1])


def make_table(title: str, seconds: dict[str, dict[str, list[float]]]) -> Table:
    """Compare the seconds of both versions."""
    rows, results = [], {}
    for work, versions in seconds.items():
        # Above 1 if the new version takes longer.
        ratio = compare(versions["old"], versions["new"])
        results[work] = {"seconds": versions, "ratio": ratio}
        old, new = (f"{median(versions[name]):.3f}" for name in ("old", "new"))
        goal = "reached" if ratio["ratio"] <= MOST else "missed"
        rows.append([work, old, new, show(ratio), f"<= {MOST}: {goal}"])
    header = ["", "old, s", "new, s", "new/old", "goal"]
    return Table(title, header, rows, results)
