"""Networks that several threads can ask at once."""

from typing import Any

from thinc.api import ArgsKwargs, PyTorchShim


class ThreadSafeShim(PyTorchShim):
    """Leaves its network ready to predict.

    Thinc turns dropout on again after each prediction, so that one thread would turn it
    on for another that is in the midst of its own. An update turns it on by itself.
    """

    def predict(self, inputs: ArgsKwargs) -> Any:
        import torch

        self._model.eval()
        is_mixed = self._mixed_precision
        with torch.no_grad(), torch.autocast("cuda", enabled=is_mixed):
            return self._model(*inputs.args, **inputs.kwargs)
