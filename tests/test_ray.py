"""Annotating on a real Ray cluster, of which a machine is lost.

pytest -m ray tests/test_ray.py
"""

import os
import signal
import threading
import time

import pytest
import srsly

from spacy_epnet.annotating import annotate

from .annotating_tools import make_texts, read_output

pytestmark = [
    pytest.mark.ray,
    # Ray's own.
    pytest.mark.filterwarnings("ignore"),
]

RECORDS = 2000
SHARD_SIZE = 50


@pytest.fixture
def pipeline(tmp_path, trained):
    trained.to_disk(tmp_path / "trained")
    return str(tmp_path / "trained")


@pytest.fixture
def cluster():
    """Two machines with a core each, on this one."""
    ray = pytest.importorskip("ray")
    from ray.cluster_utils import Cluster

    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 1, "include_dashboard": False},
    )
    second = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    ray.init(address=cluster.address, log_to_driver=False)
    yield cluster, second
    ray.shutdown()
    cluster.shutdown()


def count_done(out):
    done = out / "done.jsonl"
    return len(done.read_bytes().splitlines()) if done.exists() else 0


def find_annotators(node_id):
    """The processes of the actors that annotate on a machine."""
    from ray.util.state import list_actors

    filters = [("node_id", "=", node_id), ("state", "=", "ALIVE")]
    return [
        a.pid for a in list_actors(filters=filters) if "RayAnnotator" in a.class_name
    ]


def compare(one, other):
    """Record by record. Threads and machines may round differently."""
    one, other = read_output(one), read_output(other)
    assert [row["record"] for row in one] == [row["record"] for row in other]
    for a, b in zip(one, other, strict=True):
        for ent in [*a["entities"], *b["entities"]]:
            ent["score"] = pytest.approx(ent["score"], abs=1e-4)
        assert a == b


@pytest.mark.parametrize("loss", ["actor", "machine"])
def test_a_cluster_that_loses_a_part_gives_what_one_machine_gives(
    tmp_path, pipeline, cluster, loss
):
    machines, second = cluster
    lines = make_texts(RECORDS)
    lines[700] = "\ud800"
    path = tmp_path / "in.jsonl"
    path.write_bytes(
        b"".join(srsly.json_dumps({"text": t}).encode() + b"\n" for t in lines)
    )
    out = tmp_path / "ray"
    lost = []

    def lose():
        while count_done(out) < RECORDS // SHARD_SIZE // 4:
            time.sleep(0.05)
        if loss == "actor":
            for pid in find_annotators(second.node_id):
                os.kill(pid, signal.SIGKILL)
                lost.append(pid)
        else:
            machines.remove_node(second, allow_graceful=False)
            lost.append(second)

    loser = threading.Thread(target=lose)
    loser.start()
    summary = annotate(pipeline, [path], out, engine="ray", shard_size=SHARD_SIZE)
    loser.join()
    assert lost
    assert (summary.records, summary.rejected) == (RECORDS - 1, 1)
    annotate(pipeline, [path], tmp_path / "local", shard_size=SHARD_SIZE, processes=1)
    compare(out, tmp_path / "local")
