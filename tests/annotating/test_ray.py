"""Annotating on a real Ray cluster, of which a part is lost."""

import json
import os
import signal
import threading
import time
from pathlib import Path

import pytest
from spacy.cli._util import import_code

from spacy_epnet.annotating import annotate

from ..util.annotating_tools import count_done, make_texts, read_output

pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore")]  # Ray's own

RECORDS = 2000
SHARD_SIZE = 50
SHARDS = RECORDS // SHARD_SIZE
# So that something is left to do when the others have begun as well.
SLOW = """
import time
from spacy.language import Language

@Language.component("slow")
def slow(doc):
    time.sleep(0.005)
    return doc
"""


@pytest.fixture(scope="module")
def code(tmp_path_factory):
    path = tmp_path_factory.mktemp("code") / "slow.py"
    path.write_text(SLOW)
    import_code(path)
    return path


@pytest.fixture
def pipeline(tmp_path, trained, code):
    trained.add_pipe("slow")
    trained.to_disk(tmp_path / "slow")
    return str(tmp_path / "slow")


@pytest.fixture
def cluster():
    """Two machines with a core each, on this one."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    settings = {"num_cpus": 1, "object_store_memory": 2**27}
    cluster = Cluster(initialize_head=True, head_node_args=settings)
    second = cluster.add_node(**settings)
    cluster.wait_for_nodes()
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster, second
    ray.shutdown()
    cluster.shutdown()


def find_annotators(machine):
    """The processes of the actors that annotate on a machine."""
    raylet = machine.all_processes["raylet"][0].process.pid
    found = []
    for path in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((path / "stat").read_text().rpartition(")")[2].split()[1])
            command = (path / "cmdline").read_text()
        except (OSError, ValueError):  # it has ended
            continue
        if parent == raylet and "RayAnnotator" in command:
            found.append(int(path.name))
    return found


def compare(one, other):
    """Compare record by record. Scores may be rounded differently."""
    one, other = read_output(one), read_output(other)
    assert [row["record"] for row in one] == [row["record"] for row in other]
    for row in one:
        for entity in row["entities"]:
            entity["score"] = pytest.approx(entity["score"], abs=1e-4)
    assert one == other


@pytest.mark.parametrize("loss", ["actor", "machine"])
def test_a_cluster_that_loses_a_part_gives_what_one_machine_gives(
    tmp_path, pipeline, code, cluster, loss
):
    machines, second = cluster
    texts = make_texts(RECORDS)
    texts[700] = "\ud800"
    path = tmp_path / "in.jsonl"
    path.write_text("".join(f"{json.dumps({'text': text})}\n" for text in texts))
    out = tmp_path / "ray"
    lost = []

    def lose():
        while count_done(out) < SHARDS // 4 or not (pids := find_annotators(second)):
            if count_done(out) == SHARDS:
                return
            time.sleep(0.02)
        lost.append(count_done(out))
        if loss == "actor":
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
        else:
            machines.remove_node(second, allow_graceful=False)

    loser = threading.Thread(target=lose)
    loser.start()
    settings = {"shard_size": SHARD_SIZE, "code": code}
    summary = annotate(pipeline, [path], out, engine="ray", **settings)
    loser.join()
    assert lost
    assert lost[0] < SHARDS
    assert (summary.records, summary.rejected) == (RECORDS - 1, 1)
    annotate(pipeline, [path], tmp_path / "local", **settings)
    compare(out, tmp_path / "local")
