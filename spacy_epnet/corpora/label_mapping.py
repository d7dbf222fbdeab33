"""Map the labels of a corpus: keep, drop and rename types."""

from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

import srsly

from ..errors import CorpusError, SettingError
from .files import read_text
from .labels import is_label
from .tags import Entity

GROUP_MARK = "@"
MAX_GROUPS = 100_000  # characters of a file
MAX_DEPTH = 2  # groups, and a list for each


class LabelMapping:
    """Keep, drop and rename types. Types that are dropped become None.

    types (Optional[Iterable[str]]): The types to keep. All by default.
    drop_types (Iterable[str]): Types to drop.
    rename (Mapping[str, str]): New names of types. The other arguments refer to the
        names in the file.
    cut_types (Optional[str]): A text at which other names are cut, so that narrow types
        become broad ones: "person-actor" becomes "person" at "-".
    """

    def __init__(
        self,
        types: Iterable[str] | None = None,
        drop_types: Iterable[str] = (),
        rename: Mapping[str, str] | None = None,
        cut_types: str | None = None,
    ):
        self.types = None if types is None else set(types)
        self.drop_types = set(drop_types)
        self.rename = dict(rename or {})
        self.cut_types = cut_types
        self.seen: Counter[str] = Counter()
        self.dropped: Counter[str] = Counter()

    def apply(self, entities: Iterable[Entity]) -> list[Entity]:
        """Return the entities that are kept, under their new names."""
        kept = []
        for start, end, label in entities:
            self.seen[label] += 1
            is_wanted = self.types is None or label in self.types
            if is_wanted and label not in self.drop_types:
                short = label.partition(self.cut_types)[0] if self.cut_types else label
                name = self.rename.get(label, short or label)
                kept.append(Entity(start, end, name))
            else:
                self.dropped[label] += 1
        return kept

    @property
    def unseen(self) -> list[str]:
        """List types that were named but didn't occur."""
        named = {*(self.types or ()), *self.drop_types, *self.rename}
        return sorted(named - set(self.seen))


def make_label_mapping(
    types: str | None = None,
    drop_types: str | None = None,
    rename: Iterable[str] = (),
    cut_types: str | None = None,
    groups: Path | None = None,
) -> LabelMapping:
    """Make a label mapping of the options of a command: types or groups of a file with
    commas between them, and new names, each as OLD=NEW.
    """
    by_group = {} if groups is None else read_groups(groups)
    kept = None if types is None else resolve_types(types.split(","), by_group)
    dropped = resolve_types(drop_types.split(","), by_group) if drop_types else []
    names = {}
    for value in rename:
        old, _, new = value.partition("=")
        if not (old and new):
            raise SettingError(
                f"Can't rename '{value}'. Write OLD=NEW, for example --rename "
                "PER=PERSON."
            )
        names[old] = new
    return LabelMapping(kept, dropped, names, cut_types)


def read_groups(path: Path) -> dict[str, list[str]]:
    """Read a YAML file with the names of groups, and a list of the types of each."""
    text = read_text(path)
    if len(text) > MAX_GROUPS:
        raise CorpusError(path, f"it has more than {MAX_GROUPS:,} characters")
    try:
        _check_plain(text)
        groups = srsly.yaml_loads(text)
    except Exception as err:
        raise CorpusError(path, f"can't be read as YAML: {err}") from err
    if not isinstance(groups, dict) or not all(
        is_label(name) and isinstance(types, list) and all(map(is_label, types))
        for name, types in groups.items()
    ):
        reason = "it must have a list of types for each group, all of them texts"
        raise CorpusError(path, f"{reason}. Put quotes around those that aren't")
    return groups


def _check_plain(text: str) -> None:
    """Refuse YAML that takes much time or memory although it is short."""
    yaml = srsly.ruamel_yaml
    depth = 0
    for event in yaml.main.parse(text, yaml.SafeLoader):
        if isinstance(event, yaml.events.AliasEvent):
            raise ValueError("aliases, such as *name, aren't allowed")
        depth += isinstance(event, yaml.events.CollectionStartEvent)
        depth -= isinstance(event, yaml.events.CollectionEndEvent)
        if depth > MAX_DEPTH:
            raise ValueError("there is a list in a list")


def resolve_types(
    names: Iterable[str], groups: Mapping[str, Iterable[str]]
) -> list[str]:
    """Replace the names of groups, which begin with @, by their types."""
    types: list[str] = []
    for name in names:
        if not name.startswith(GROUP_MARK):
            types.append(name)
        elif name[1:] in groups:
            types += groups[name[1:]]
        else:
            known = ", ".join(groups) or "none, because no --groups file was given"
            raise SettingError(
                f"There is no type group called '{name[1:]}'. There are: {known}."
            )
    return types
