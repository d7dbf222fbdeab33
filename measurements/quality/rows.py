"""The settings that are compared, for each recognizer.

The first row is the default. The others say what differs: settings of the adaptation,
under "component" those of the component, and under "profile" another profile.
"""

from typing import Any

COMPONENT, PROFILE, DEFAULT = "component", "profile", "default"

RANDOM = {"@misc": "spacy-epnet.random_assignment.v1"}
NEAR = {"@misc": "spacy-epnet.prefer_near.v1"}

EPNET: dict[str, dict[str, Any]] = {
    DEFAULT: {},
    "random source types": {"assignment": RANDOM},
    "mixture without names": {"assignment": {"name_weight": 0.0}},
    "names weigh 10": {"assignment": {"name_weight": 10.0}},
    "names weigh 40": {"assignment": {"name_weight": 40.0}},
    "target loss 0.005": {"target_loss": 0.005},
    "target loss 0.06": {"target_loss": 0.06},
    "lr 0.0002": {"lr": 0.0002},
    "lr 0.001": {"lr": 0.001},
    "dropout 0.5": {"dropout": 0.5},
    "no average": {"average": 0},
    "no hard None spans": {"hard_nones": 0.0},
    "10 None spans": {"none_samples": 10},
    "20 None spans": {"none_samples": 20},
    "40 None spans": {"none_samples": 40},
    "10 None spans, target loss 0.06": {"none_samples": 10, "target_loss": 0.06},
    "100 None spans": {"none_samples": 100},
    "no dispersion": {"dispersion_loss": False},
    "the nearer of overlapping spans": {"overlaps": NEAR},
    "as printed": {PROFILE: "paper"},
    "as printed, 400 steps": {PROFILE: "paper", "max_steps": 400},
    "as printed, 800 steps": {PROFILE: "paper", "max_steps": 800},
    "as printed, 1600 steps": {PROFILE: "paper", "max_steps": 1600},
}


def vary_dependency(default: float) -> dict[str, dict[str, Any]]:
    """How much it counts which type follows which, and how it is handed on."""
    powers = [power for power in (0.001, 0.01, 0.1, 1.0) if power != default]
    ways = {
        f"transfer {way}": {COMPONENT: {"transfer": way}} for way in ("copy", "even")
    }
    return {
        DEFAULT: {},
        **{f"temperature {p}": {COMPONENT: {"temperature": p}} for p in powers},
        **ways,
    }


RIVAL: dict[str, dict[str, Any]] = {
    DEFAULT: {},
    **{
        f"{steps} steps of {size} words": {"steps": steps, "batch_size": size}
        for steps, size in ((100, 2000), (300, 500), (600, 250), (600, 500))
    },
    **{f"lr {rate}": {"learn_rate": rate} for rate in (0.00005, 0.0005)},
}

ROWS: dict[str, dict[str, dict[str, Any]]] = {
    "epnet_ner": EPNET,
    "protonet_ner": {DEFAULT: {}},
    "nnshot_ner": {DEFAULT: {}},
    "structshot_ner": vary_dependency(0.01),
    "protonet_pd_ner": vary_dependency(0.1),
    "epnet_tokens_ner": vary_dependency(1.0),
    "container_ner": {
        **vary_dependency(0.01),
        "no steps": {"max_steps": 0},
        "10 steps": {"max_steps": 10},
        "10 steps, whatever the loss": {"max_steps": 10, "patience": 0},
        "lr 0.00001": {"lr": 0.00001},
        "lr 0.0001": {"lr": 0.0001},
        "means": {"distance": "means"},
        "divergence": {"distance": "divergence"},
    },
    "cpnet_ner": {
        DEFAULT: {},
        "no hard None spans": {"hard_nones": 0.0},
        "all None spans hard": {"hard_nones": 1.0},
        "20 None spans": {"none_samples": 20},
        "100 None spans": {"none_samples": 100},
        "the nearer of overlapping spans": {"overlaps": NEAR},
    },
    "esd_ner": {
        DEFAULT: {},
        "no hard None spans": {"hard_nones": 0.0},
        "20 None spans": {"none_samples": 20},
        "100 None spans": {"none_samples": 100},
        "beam of 1": {COMPONENT: {"beam_size": 1}},
        "delta 0.3": {COMPONENT: {"delta": 0.3}},
        "delta 0.5": {COMPONENT: {"delta": 0.5}},
    },
    "ner": RIVAL,
    "spancat_singlelabel": {
        **RIVAL,
        **{
            f"negative weight {weight}": {"changes": {"negative_weight": weight}}
            for weight in (0.005, 0.02, 0.05, 0.1, 1.0)
        },
    },
}
