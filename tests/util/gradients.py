import numpy
import pytest


def check_gradient(get_loss, array, gradient, *, step=1e-5):
    """Compare a gradient with finite differences."""
    for place in numpy.ndindex(array.shape):
        moved = [array.copy(), array.copy()]
        moved[0][place] += step
        moved[1][place] -= step
        slope = (get_loss(moved[0]) - get_loss(moved[1])) / (2 * step)
        assert gradient[place] == pytest.approx(slope, abs=1e-5)
