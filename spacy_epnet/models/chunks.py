"""Running a transformer over a batch in parts of similar length.

spacy-transformers pads all texts of a batch to the longest and runs them at once. In
parts, little is padded, and the memory that the transformer needs on the way doesn't
grow with the length of a doc or the number of docs.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy
import torch
from spacy_transformers.data_classes import WordpieceBatch
from thinc.api import Model
from thinc.layers.pytorchwrapper import forward as run_whole
from torch import Tensor
from transformers.file_utils import ModelOutput


def use_chunks(layer: Model, max_pieces: int) -> None:
    """Let the layer around a transformer run it in parts.

    layer (Model): The layer that wraps the PyTorch transformer.
    max_pieces (int): Word pieces in a part, with padding. A text that has more by
        itself is a part of its own.
    """
    # An attribute of the layer would be saved with it, and overrule the config.
    layer._func = partial(forward, max_pieces=max_pieces)


def forward(
    model: Model, pieces: WordpieceBatch, is_train: bool, *, max_pieces: int
) -> tuple[ModelOutput, Callable[[ModelOutput], Any]]:
    lengths = get_lengths(pieces.attention_mask)
    chunks = split_by_length(lengths, max_pieces)
    if len(chunks) < 2:
        return run_whole(model, pieces, is_train)
    results = [
        run_whole(model, take(pieces, rows, int(lengths[rows].max())), is_train)
        for rows in chunks
    ]
    outputs = join([output for output, _ in results], chunks)

    def backprop(d_outputs: ModelOutput) -> list:
        (d_states,) = d_outputs.values()
        for rows, (output, backprop_chunk) in zip(chunks, results, strict=True):
            length = output.last_hidden_state.shape[1]
            d_chunk = d_states[torch.from_numpy(rows), :length]
            backprop_chunk(ModelOutput(last_hidden_state=d_chunk))
        return []

    return outputs, backprop


def get_lengths(mask: Any) -> Any:
    """How many columns each row of an attention mask needs.

    mask (numpy.ndarray): (texts, pieces) What isn't padding.
    RETURNS (numpy.ndarray): (texts,) The place after the last that isn't.
    """
    return mask.shape[1] - numpy.argmax(mask[:, ::-1] != 0, axis=1)


def split_by_length(lengths: Any, max_pieces: int) -> list[Any]:
    """Part texts into groups of similar length.

    lengths (numpy.ndarray): The word pieces of each text.
    max_pieces (int): Word pieces in a group, each text padded to the longest.
    RETURNS (List[numpy.ndarray]): The places of the texts in each group.
    """
    groups: list[list[int]] = []
    for i in numpy.argsort(-lengths, kind="stable").tolist():
        # The first of a group is its longest.
        if groups and (len(groups[-1]) + 1) * lengths[groups[-1][0]] <= max_pieces:
            groups[-1].append(i)
        else:
            groups.append([i])
    return [numpy.asarray(group) for group in groups]


def take(pieces: WordpieceBatch, rows: Any, length: int) -> WordpieceBatch:
    """Some of the texts of a batch, without the padding that they don't need."""
    types = pieces.token_type_ids
    return WordpieceBatch(
        strings=[pieces.strings[i][:length] for i in rows.tolist()],
        input_ids=pieces.input_ids[rows, :length],
        attention_mask=pieces.attention_mask[rows, :length],
        lengths=[pieces.lengths[i] for i in rows.tolist()],
        token_type_ids=None if types is None else types[rows, :length],
    )


def join(outputs: list[ModelOutput], chunks: list[Any]) -> ModelOutput:
    """Put the outputs of parts together as if the batch had been run at once.

    outputs (List[ModelOutput]): The outputs of each part.
    chunks (List[numpy.ndarray]): The texts of each part.
    RETURNS (ModelOutput): The outputs of the batch, with zeros for padding.
    """
    joined: dict[str, Any] = {}
    for key, value in outputs[0].items():
        parts = [output[key] for output in outputs]
        if isinstance(value, tuple):
            layers = zip(*parts, strict=True)
            joined[key] = tuple(join_tensors(layer, chunks) for layer in layers)
        else:
            joined[key] = join_tensors(parts, chunks)
    return type(outputs[0])(**joined)


def join_tensors(parts: Sequence[Tensor], chunks: list[Any]) -> Tensor:
    """The tensors of parts as one, in which all are as long as the longest."""
    sizes = [max(sizes) for sizes in zip(*(p.shape[1:] for p in parts), strict=True)]
    joined = parts[0].new_zeros((sum(map(len, chunks)), *sizes))
    for part, rows in zip(parts, chunks, strict=True):
        inside: Any = [slice(size) for size in part.shape[1:]]
        joined[torch.from_numpy(rows), *inside] = part.detach()
    return joined
