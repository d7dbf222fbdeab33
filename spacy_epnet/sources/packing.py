"""Pack a trained pipeline without the encoder that it is based on.

config.cfg, meta.json    as in a pipeline's folder
encoder.safetensors      how training changed the encoder
<component>/             the data of each other component
source.json              the encoder's name, and the hashes of all these files
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import srsly
from spacy.language import Language
from spacy.util import load_config, load_model_from_config
from thinc.api import Config

from ..corpora.files import get_hash
from ..errors import EncoderError, LoadingError, PipelineError
from ..hashes import HASHES_FIELD
from ..recognizer.pipeline import hash_pipeline
from ..recognizer.training_config import without_corpora
from ..writing import write_whole

CONFIG, META, CHANGES = "config.cfg", "meta.json", "encoder.safetensors"
MANIFEST = "source.json"
# Parts of components. The manifest has the hashes.
LEFT_OUT = ["vocab", HASHES_FIELD]
DAMAGED = (
    "The file '{path}' isn't what was packed: it is missing, damaged or changed. "
    "Install spacy-epnet again, or pack the source again."
)


class Manifest(NamedTuple):
    """Describe a packed source, so that damage is found."""

    encoder: str  # its name
    files: dict[str, str]  # the SHA-256 of each
    pipeline: str  # what `hash_pipeline` gives for it


def pack_source(nlp: Language, encoder: Path, output: Path) -> Manifest:
    """Pack a trained pipeline, based on the encoder in a folder, into another."""
    from safetensors.torch import save_file

    from .changes import find_changes, is_origin

    config = name_encoder(without_corpora(nlp), encoder.name)
    after = find_encoder(nlp)[1].transformer.state_dict()
    blank = build_blank(config, encoder)
    before = find_encoder(blank)[1].transformer.state_dict()
    if not is_origin(before, after):
        raise EncoderError(
            f"The encoder in '{encoder}' isn't the one that the pipeline was trained "
            "on: its weights have other names or sizes, or have nothing to do with the "
            "pipeline's, whose config.cfg says which it was."
        )
    with write_whole(output, may_replace=is_packed) as folder:
        folder.mkdir()
        config.to_disk(folder / CONFIG)
        srsly.write_json(folder / META, nlp.meta)
        save_file(find_changes(before, after), folder / CHANGES)
        for name, pipe in iter_others(nlp):
            pipe.to_disk(folder / name, exclude=LEFT_OUT)
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        hashes = {path.relative_to(folder).as_posix(): get_hash(path) for path in files}
        load_changes(blank, folder)
        manifest = Manifest(encoder.name, hashes, hash_pipeline(blank))
        srsly.write_json(folder / MANIFEST, manifest._asdict())
    return manifest


def unpack_source(folder: Path, encoder: Path) -> Language:
    """Put a packed pipeline together with its encoder, a folder or name on the hub."""
    manifest = read_manifest(folder)
    for file, expected in manifest.files.items():
        path = folder / file
        if not path.is_file() or get_hash(path) != expected:
            raise LoadingError(DAMAGED.format(path=path))
    is_other = encoder.is_dir() and not (encoder / "config.json").is_file()
    if not is_other:
        nlp = build_blank(load_config(folder / CONFIG), encoder)
        load_changes(nlp, folder)
        is_other = hash_pipeline(nlp) != manifest.pipeline
    if is_other:
        raise EncoderError(
            f"The encoder '{encoder}' isn't the one that the source was trained on, "
            f"which is {manifest.encoder}. Nothing was written. If it isn't given, "
            "the right one is downloaded."
        )
    return nlp


def read_manifest(folder: Path) -> Manifest:
    """Read the manifest of a packed source."""
    try:
        return Manifest(**srsly.read_json(folder / MANIFEST))
    except (OSError, ValueError, TypeError) as err:
        raise LoadingError(DAMAGED.format(path=folder / MANIFEST)) from err


def is_packed(folder: Path) -> bool:
    """Check whether a folder is empty or has a packed source and nothing else."""
    found = [p for p in folder.rglob("*") if not p.is_dir() or p.is_symlink()]
    names = {path.relative_to(folder).as_posix() for path in found}
    if not names:
        return not any(folder.iterdir())
    return MANIFEST in names and names <= {MANIFEST, *read_manifest(folder).files}


def build_blank(config: Config, encoder: Path) -> Language:
    """Build an untrained pipeline over an encoder, which its config doesn't name."""
    nlp = load_model_from_config(name_encoder(config, str(encoder)), auto_fill=True)
    name, model = find_encoder(nlp)
    model.initialize(X=[nlp.make_doc("token")])
    before = config["components"][name]["model"]["name"]
    nlp.get_pipe_config(name)["model"]["name"] = before
    nlp.config["paths"] = config["paths"]
    return nlp


def name_encoder(config: Config, encoder: str) -> Config:
    """Copy the config of a pipeline with another name of the encoder."""
    changed = config.copy()
    for block in changed["components"].values():
        if "name" in block.get("model", {}):
            block["model"]["name"] = encoder
    changed["paths"]["encoder"] = encoder
    return changed


def load_changes(nlp: Language, folder: Path) -> None:
    """Load what was packed into a pipeline that `build_blank` made."""
    from safetensors.torch import load_file

    from .changes import apply_changes

    _, model = find_encoder(nlp)
    apply_changes(model.transformer, load_file(folder / CHANGES))
    for name, pipe in iter_others(nlp):
        pipe.from_disk(folder / name, exclude=LEFT_OUT)
    nlp.meta.update(srsly.read_json(folder / META))


def iter_others(nlp: Language) -> Iterator[tuple[str, Any]]:
    """Yield the components without an encoder that have data of their own."""
    encoder, _ = find_encoder(nlp)
    for name, pipe in nlp.pipeline:
        if name != encoder and hasattr(pipe, "to_disk"):
            yield name, pipe


def find_encoder(nlp: Language) -> tuple[str, Any]:
    """Find the component with the encoder, and the model of it."""
    models = {name: getattr(pipe, "model", None) for name, pipe in nlp.pipeline}
    found = [(name, m) for name, m in models.items() if hasattr(m, "transformer")]
    if len(found) != 1:
        raise PipelineError(
            f"Can't pack this pipeline: it has {len(found)} transformers. A source has "
            "one, and recognizers that listen to it."
        )
    return found[0]
