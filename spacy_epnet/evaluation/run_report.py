"""Write a page about a run: what was trained, adapted and measured in a folder."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import dict_to_dot

from ..corpora.corpus import Corpus
from ..corpora.files import load_json, read_lines, read_text
from ..errors import EvaluationError, TooFewError
from ..recognizer.pipeline import find_recognizer, is_pipeline
from .benchmark import format_shots
from .geometry import make_heat_map, make_span_map
from .mistakes import KINDS, Finding, analyze, recognize_marked
from .pages import (
    embed_figure,
    fold,
    make_heading,
    make_page,
    make_paragraph,
    make_table,
    mark_text,
)
from .plots import Line, draw_confusion, draw_heat_maps, draw_lines, draw_span_maps
from .query import get_prf
from .results import format_f1, format_spread, format_value, refuse_others

# Sentences with the most mistakes that are shown.
N_WORST = 12
ADVICE = (
    "Give the folder of a run, such as training/demo after: python -m spacy project "
    "run all"
)


@dataclass
class RunFolder:
    """Artifacts found in a run folder, by the names of their files."""

    path: Path
    pipeline: Path | None = None  # the adapted one if there are several
    benchmarks: dict[str, Any] = field(default_factory=dict)
    episodes: dict[str, Any] = field(default_factory=dict)
    adaptations: dict[str, Any] = field(default_factory=dict)
    logs: dict[str, list[dict[str, Any]]] = field(default_factory=dict)

    @property
    def files(self) -> list[Path]:
        """RETURNS (List[Path]): The files that were read."""
        found = (self.benchmarks, self.episodes, self.adaptations, self.logs)
        return [self.path / name for files in found for name in files]


def read_folder(path: Path) -> RunFolder:
    """Find out what a folder has to show. Files of other kinds are passed over."""
    if not path.is_dir():
        raise EvaluationError(f"Can't report on '{path}': there is no folder. {ADVICE}")
    run = RunFolder(path)
    folders = [path, *sorted(p for p in path.iterdir() if p.is_dir())]
    # An empty folder may become a pipeline, but is none.
    pipelines = [p for p in folders if (p / "meta.json").exists() and is_pipeline(p)]
    # What a training leaves is a source, beside which there may be what became of it.
    pipelines.sort(key=lambda p: p.name in ("model-best", "model-last"))
    run.pipeline = pipelines[0] if pipelines else None
    for file in sorted(path.glob("*.json")):
        data = _parse(read_text(file, errors="replace"))
        if {"benchmark", "summary", "runs"} <= {*data}:
            known = data["benchmark"]
            by_episodes = isinstance(known, dict) and "episodes" in known
            (run.episodes if by_episodes else run.benchmarks)[file.name] = data
        elif {"component", "learning", "support"} <= {*data}:
            run.adaptations[file.name] = data
    for file in sorted(path.glob("*.jsonl")):
        lines = read_lines(file, lambda count: None, lambda error: None)
        rows = [_parse(line) for _, line in lines if line]
        rows = [row for row in rows if "losses" in row]
        if rows:
            run.logs[file.name] = rows
    if not (run.pipeline or run.benchmarks or run.episodes or run.adaptations):
        reason = "there are neither pipelines nor results in it"
        raise EvaluationError(f"Can't report on '{path}': {reason}. {ADVICE}")
    return run


def _parse(text: str) -> dict[str, Any]:
    """Parse a JSON object, or return an empty one if it is something else."""
    try:
        data = load_json(text)
    except ValueError:
        return {}
    return data if isinstance(data, dict) else {}


def write_report(
    run: RunFolder,
    nlp: Language | None,
    test: Path | None,
    *,
    on_part: Callable[[str], object] = lambda part: None,
) -> str:
    """Write a page about a run, with what its pipeline gets wrong on a test corpus.
    `on_part` is told of each part before it is made.
    """
    parts: dict[str, Callable[[], Iterable[str]]] = {}
    parts["Results"] = lambda: render_benchmarks(run)
    if nlp is not None and test is not None:
        docs = Corpus(test, nlp.vocab).docs
        recognize = cache(lambda: list(recognize_marked(nlp, docs)))
        parts["Test set"] = lambda: render_corpus(test, nlp, recognize())
        parts["Mistakes"] = lambda: render_mistakes(nlp, recognize())
        parts["Where entities are"] = lambda: render_spans(nlp, docs)
    if nlp is not None:
        parts["Types"] = lambda: render_types(nlp)
    parts["Learning curves"] = lambda: render_curves(run)
    parts["Settings"] = lambda: render_settings(run, nlp)
    sections = []
    for heading, make in parts.items():
        on_part(heading)
        sections.append((heading, "".join(make())))
    return make_page(f"Report on {run.path.resolve().name}", sections)


def refuse_changed(path: Path) -> AbstractContextManager[None]:
    """Say that a file can't be shown, if reading it fails."""
    return refuse_others(
        f"'{path}' looks like something that spacy epnet has written, but can't be "
        "shown: it was changed, or is from somewhere else. Remove it to go on."
    )


def render_benchmarks(run: RunFolder) -> Iterator[str]:
    """Render tables of F1, with spreads."""
    for file, data in run.benchmarks.items():
        with refuse_changed(run.path / file):
            yield make_heading(file)
            rows = [
                [g["target"], g["profile"], format_shots(g["shots"]), g["supports"]]
                + [format_spread(g[key]) for key in "pr"]
                + [format_f1(g)]
                for g in data["summary"]
            ]
            header = ["target", "profile", "shots", "support sets"]
            yield make_table([*header, "precision", "recall", "F1"], rows)
            for group in data["summary"]:
                shots = format_shots(group["shots"])
                kind = f"{group['target']}, {group['profile']}, {shots}"
                per_type = group["per_type"].items()
                own = [
                    [t, *(format_spread(s[key]) for key in "prf")] for t, s in per_type
                ]
                table = make_table(["type", "precision", "recall", "F1"], own)
                yield fold(f"{kind}, each type", table)
            for key, result in data["runs"].items():
                if "failed" in result:
                    yield make_paragraph(f"{key} has no result: {result['failed']}")
    for file, data in run.episodes.items():
        with refuse_changed(run.path / file):
            yield make_heading(file)
            summary, how = data["summary"], data["benchmark"]["episodes"]
            yield make_table(
                ["episodes of", "count", "precision", "recall", "F1", "seconds each"],
                [
                    [how["file"], summary["episodes"]]
                    + [f"{summary[key]:.1f}" for key in "prf"]
                    + [f"{summary['seconds_per_episode']:.2f}"]
                ],
            )


def render_settings(run: RunFolder, nlp: Language | None) -> Iterator[str]:
    """Render the settings of adaptations and facts about the pipeline."""
    for file, data in run.adaptations.items():
        with refuse_changed(run.path / file):
            yield make_heading(f"Adaptation, {file}")
            settings = sorted(dict_to_dot(data["settings"]).items())
            yield make_table(
                ["setting", "value"], [(k, format_value(v)) for k, v in settings]
            )
            yield make_heading("Support set")
            yield make_table(["type", "examples"], data["support"].items())
            yield make_heading("Source")
            yield from render_source(data["source"])
            for problem in data["problems"]:
                yield make_paragraph(f"{problem['where']}: {problem['what']}")
    if nlp is not None:
        found = find_recognizer(nlp)
        name, pipe = found.name, found.recognizer
        yield make_heading("Pipeline")
        facts = {
            "name": f"{nlp.meta['lang']}_{nlp.meta['name']}",
            "version": nlp.meta["version"],
            "description": nlp.meta.get("description") or "",
            "license": nlp.meta.get("license") or "",
            "components": ", ".join(nlp.pipe_names),
            "recognizer": nlp.get_pipe_meta(name).factory,
            "types": ", ".join(pipe.labels),
            "sentences of the support set": len(pipe.learned["support"]),
        }
        facts |= {key: format_value(value) for key, value in sorted(pipe.cfg.items())}
        yield make_table(["what", "value"], facts.items())


def render_source(source: dict[str, Any]) -> Iterator[str]:
    """Render which source was adapted."""
    name, types = f"{source['name']} {source['version']}", source["types"]
    yield make_paragraph(f"{name}, which knows {len(types)} types")
    if source["corpora"]:
        rows = [(n, len(own), ", ".join(own)) for n, own in source["corpora"].items()]
        table = make_table(["corpus", "types", "which are"], rows)
        yield fold("The corpora that it was trained on", table)
    elif types:
        yield fold("Its types", make_paragraph(", ".join(types)))


def render_curves(run: RunFolder) -> Iterator[str]:
    """Render curves of losses and scores."""
    for file, rows in run.logs.items():
        with refuse_changed(run.path / file):
            names = sorted({name for row in rows for name in row["losses"]})
            steps = [row["step"] for row in rows]
            losses = {
                n: Line(steps, [r["losses"].get(n, 0.0) for r in rows]) for n in names
            }
            figure = draw_lines(losses, x="step", y="loss since the last evaluation")
            yield embed_figure(figure, f"Losses of the training, {file}")
            scores = {
                "score": Line(steps, [100 * (row["score"] or 0.0) for row in rows])
            }
            figure = draw_lines(scores, x="step", y="score on the dev set, in per cent")
            yield embed_figure(figure, f"Scores of the training, {file}")
    for file, data in run.adaptations.items():
        with refuse_changed(run.path / file):
            losses = data["learning"].get("losses") or []
            if losses:
                line = {"loss": Line(range(1, len(losses) + 1), losses)}
                figure = draw_lines(line, x="pass over the support set", y="loss")
                yield embed_figure(figure, f"Loss of the adaptation, {file}")


def render_types(nlp: Language) -> Iterator[str]:
    """Render the distances between types."""
    if find_recognizer(nlp).recognizer.list_centers() is None:
        return
    heat = make_heat_map(nlp)
    caption = "Squared distances between what stands for types"
    yield embed_figure(draw_heat_maps({"types": heat}), caption)
    rows = [
        (name, f"{mean:.2f}")
        for name, mean in heat.summarize().items()
        if mean is not None
    ]
    yield make_table(["mean over pairs of", "squared distance"], rows)


def render_corpus(path: Path, nlp: Language, examples: list[Example]) -> Iterator[str]:
    """Render the size of the test set and the scores on it."""
    docs = [eg.reference for eg in examples]
    counts = Counter(ent.label_ for doc in docs for ent in doc.ents)
    tokens = sum(len(doc) for doc in docs)
    yield make_paragraph(
        f"{path.name}: {len(docs)} texts, {tokens} tokens, {counts.total()} entities"
    )
    pipe = find_recognizer(nlp).recognizer
    scores = get_prf(pipe.score(examples), counts)
    rows: list[list[Any]] = [["all", *format_prf(scores), counts.total()]]
    for label, count in counts.most_common():
        rows.append([label, *format_prf(scores["per_type"][label]), count])
    yield make_table(["type", "precision", "recall", "F1", "entities"], rows)


def format_prf(scores: dict[str, Any]) -> list[str]:
    """Format precision, recall and F1."""
    return [f"{scores[key]:.1f}" for key in "prf"]


def render_spans(nlp: Language, docs: list[Doc]) -> Iterator[str]:
    """Render a map of entities and types."""
    pipe = find_recognizer(nlp).recognizer
    known = {*pipe.labels} & {ent.label_ for doc in docs for ent in doc.ents}
    if pipe.list_centers() is None or not known:
        return
    caption = "Entities of the test set by t-SNE, and what stands for types as stars"
    try:
        found = make_span_map(nlp, docs)
    except TooFewError as err:
        yield make_paragraph(str(err))
    else:
        yield embed_figure(draw_span_maps({"test set": found}), caption)


def render_mistakes(nlp: Language, examples: list[Example]) -> Iterator[str]:
    """Render the mistakes on the test set."""
    analysis = analyze(find_recognizer(nlp).recognizer, examples)
    if not analysis.findings:
        yield make_paragraph("Nothing is marked in the test set, and nothing found.")
        return
    rows = [[label, *n.values()] for label, n in analysis.count_kinds().items()]
    yield make_table(["type", *KINDS], rows)
    caption = "Which types are taken for which: how often, and the share by color"
    yield embed_figure(draw_confusion(analysis.confuse()), caption)
    yield make_heading("The sentences with the most mistakes")
    yield from render_worst(examples, analysis.findings)


def render_worst(examples: list[Example], findings: list[Finding]) -> Iterator[str]:
    """Render the worst sentences, as marked and as recognized."""
    wrong = Counter(f.example for f in findings if f.kind != "right")
    if not wrong:
        yield make_paragraph("There are no mistakes.")
    for i, count in wrong.most_common(N_WORST):
        yield make_paragraph(
            f"{count} {'mistakes' if count > 1 else 'mistake'}. Marked:"
        )
        yield mark_text(examples[i].reference)
        yield make_paragraph("Recognized:")
        yield mark_text(examples[i].predicted)
