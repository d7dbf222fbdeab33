import numpy
import pytest
from thinc.api import Adam, Model, registry, warmup_linear

from spacy_epnet.encoder.optimizer import FusedAdam, make_adam, scale_rates


def run(optimizer, *, steps=30, scale=1.0, dtype="f"):
    rng = numpy.random.default_rng(0)
    weights = rng.normal(size=(7, 5)).astype(dtype)
    for step in range(steps):
        gradient = rng.normal(size=(7, 5)).astype(dtype) * (0.01 + step % 3)
        weights, gradient = optimizer((1, "W"), weights, gradient, lr_scale=scale)
        optimizer.step_schedules()
        assert not gradient.any()
    return weights


@pytest.mark.parametrize(
    "settings",
    [
        {"L2": 0.01, "grad_clip": 1.0},
        {"L2": 0.0, "grad_clip": 0.0, "eps": 0.1},
        {"L2": 0.1, "L2_is_weight_decay": False},
        {"beta1": 0.5, "beta2": 0.9, "use_averages": False},
    ],
    ids=["decay", "eps", "L2", "betas"],
)
@pytest.mark.parametrize("scale", [1.0, 10.0])
def test_steps_are_those_of_thinc(settings, scale):
    optimizers = [
        make(warmup_linear(0.0005, 5, 100), **settings) for make in (Adam, make_adam)
    ]
    expected, found = (run(optimizer, scale=scale) for optimizer in optimizers)
    numpy.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-6)
    averages = [optimizer.averages for optimizer in optimizers]
    if averages[0] is not None:
        numpy.testing.assert_allclose(
            averages[1][1, "W"], averages[0][1, "W"], rtol=1e-4, atol=1e-6
        )


def test_arrays_that_grew_are_refused():
    optimizer = make_adam(0.001)
    small, large = numpy.ones(4, dtype="f"), numpy.ones(400, dtype="f")
    optimizer((1, "W"), small, small.copy())
    with pytest.raises(ValueError, match=r"\S"):
        optimizer((1, "W"), large, large.copy())
    with pytest.raises(ValueError, match=r"\S"):
        optimizer((2, "W"), large, small)


def test_it_is_found_by_its_name():
    make = registry.optimizers.get("spacy-epnet.Adam.v1")
    assert isinstance(make(0.001, L2=0.01), FusedAdam)


def test_layers_may_learn_at_rates_of_their_own():
    inner: Model = Model(
        "inner", lambda *_: None, params={"W": numpy.ones((2, 2), "f")}
    )
    outer: Model = Model(
        "outer",
        lambda *_: None,
        layers=[inner],
        params={"W": numpy.ones((2, 2), "f")},
        attrs={"learn_rate_scale": 10.0},
    )
    for node in outer.walk():
        node.set_grad("W", numpy.full((2, 2), 0.1, "f"))
    optimizer = make_adam(0.001, L2=0.0, use_averages=False)
    outer.finish_update(scale_rates(optimizer, outer))
    moved = [float(1 - node.get_param("W")[0, 0]) for node in (inner, outer)]
    assert moved == pytest.approx([0.001, 0.01], rel=1e-3)
    assert scale_rates(optimizer, inner) is optimizer
