"""Run a transformer over a batch in chunks of similar length.

spacy-transformers pads all texts of a batch to the longest and runs them at once. In
chunks, little is padded, and the memory that the transformer needs doesn't grow with
the length of a doc or the number of docs.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

import numpy
import torch
from spacy_transformers.data_classes import WordpieceBatch
from thinc.api import ArgsKwargs, Model
from thinc.layers.pytorchwrapper import forward as run_whole
from thinc.util import is_torch_array
from transformers.file_utils import ModelOutput

from .._compat import set_forward

# Word pieces of padding in a chunk. On a CPU, to run more than these takes longer than
# to begin another chunk. Others run them beside the rest.
MAX_PADDING = 32

Rows: TypeAlias = Any  # (n,) of int, texts of a batch
Backprop: TypeAlias = Callable[[ModelOutput], list[Any]]


def use_chunks(layer: Model[WordpieceBatch, ModelOutput], max_pieces: int) -> None:
    """Let the layer around a transformer run it in chunks of so many word pieces, with
    padding. A text that has more by itself is a chunk of its own.
    """
    # An attribute of the layer would be saved with it, and overrule the config.
    set_forward(layer, partial(forward, max_pieces=max_pieces))


def forward(
    model: Model[WordpieceBatch, ModelOutput],
    pieces: WordpieceBatch,
    is_train: bool,
    *,
    max_pieces: int,
) -> tuple[ModelOutput, Backprop]:
    lengths = get_lengths(pieces.attention_mask)
    shim: Any = model.shims[0]
    max_padding = MAX_PADDING if shim.device.type == "cpu" else max_pieces
    chunks = split_by_length(lengths, max_pieces, max_padding)
    if len(chunks) < 2:
        return run_whole(model, pieces, is_train)
    joined: dict[str, Any] = {}
    for rows in chunks:
        chunk = select_rows(pieces, rows, int(lengths[rows].max()))
        inputs, _ = model.attrs["convert_inputs"](model, chunk, is_train)
        outputs, backprop_all = shim(inputs, is_train)
        write_rows(outputs, rows, joined, len(pieces))
    whole = type(outputs)(**joined)

    def backprop(d_outputs: ModelOutput) -> list[Any]:
        # The gradients of all chunks go to the weights at once. One chunk after the
        # other, gradients of half precision would be scaled again and again.
        gradients = {"grad_tensors": d_outputs.values()}
        backprop_all(ArgsKwargs(args=(whole.last_hidden_state,), kwargs=gradients))
        return []

    return whole, backprop


def get_lengths(mask: Any) -> Any:
    """Count the columns that each row of an attention mask needs, without padding."""
    return mask.shape[1] - numpy.argmax(mask[:, ::-1] != 0, axis=1)


def split_by_length(lengths: Any, max_pieces: int, max_padding: int) -> list[Rows]:
    """Divide texts into groups of similar length: of at most so many word pieces, each
    text padded to the longest, of which so many may be padding.
    """
    groups: list[list[int]] = []
    longest = padding = 0
    for i in numpy.argsort(-lengths, kind="stable").tolist():
        length = int(lengths[i])
        padding += longest - length
        n_pieces = (len(groups[-1]) + 1) * longest if groups else 0
        if not groups or n_pieces > max_pieces or padding > max_padding:
            groups.append([])
            longest, padding = length, 0
        groups[-1].append(i)
    return [numpy.asarray(group) for group in groups]


def select_rows(pieces: WordpieceBatch, rows: Rows, length: int) -> WordpieceBatch:
    """Select texts of a batch, without the padding that they don't need."""
    types = pieces.token_type_ids
    window: Any = rows, slice(length)
    return WordpieceBatch(
        strings=[pieces.strings[i][:length] for i in rows.tolist()],
        input_ids=pieces.input_ids[window],
        attention_mask=pieces.attention_mask[window],
        lengths=[pieces.lengths[i] for i in rows.tolist()],
        token_type_ids=None if types is None else types[window],
    )


def write_rows(
    outputs: ModelOutput, rows: Rows, joined: dict[str, Any], n_texts: int
) -> None:
    """Write the outputs of a chunk to their rows in those of the batch, with zeros for
    padding. The first chunk, which has the longest texts, makes room for all. What
    isn't a row for each text is left out.
    """
    positions = torch.from_numpy(rows)
    for key, value in outputs.items():
        parts = value if isinstance(value, tuple) else (value,)
        if not all(is_torch_array(p) and len(p) == len(rows) for p in parts):
            continue
        if key not in joined:
            room = [part.new_zeros((n_texts, *part.shape[1:])) for part in parts]
            joined[key] = tuple(room) if isinstance(value, tuple) else room[0]
        wholes = joined[key] if isinstance(value, tuple) else (joined[key],)
        for whole, part in zip(wholes, parts, strict=True):
            inside = [slice(size) for size in part.shape[1:]]
            whole[positions, *inside] = part
