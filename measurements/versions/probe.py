"""Tasks that run inside of a checkout, with what all versions of the project have.

It is run as a script and imports nothing of the project but its public functions. Each
line of the input is a request; each is answered with a line of JSON.
"""

import hashlib
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stdout
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, TypeAlias

import numpy
import spacy
import torch
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.util import fix_random_seed, load_config, minibatch
from spacy.vocab import Vocab
from thinc.api import Model

import spacy_epnet

# A marked text: {"text" or "words": ..., "entities": [[start, end, label], ...]}, where
# places are those of characters or of words.
Text: TypeAlias = dict[str, Any]
Json: TypeAlias = dict[str, Any]

UPDATES = 6


def make_doc(vocab: Vocab, text: Text) -> Doc:
    """Make a doc of a text in words."""
    doc = Doc(vocab, words=text["words"])
    doc.set_ents([Span(doc, *entity) for entity in text["entities"]])
    return doc


def make_support(texts: list[Text]) -> list[Any]:
    """Make a support set as `adapt` takes it."""
    vocab = Vocab()
    return [
        make_doc(vocab, text) if "words" in text else (text["text"], text["entities"])
        for text in texts
    ]


def make_input(nlp: Language, text: Text) -> Doc:
    """Make a doc without annotation."""
    if "words" in text:
        return Doc(nlp.vocab, words=text["words"])
    return nlp.make_doc(text["text"])


def hash_arrays(arrays: list[numpy.ndarray]) -> str:
    """Hash arrays by shape, type and content. Their names may differ."""
    arrays = [numpy.ascontiguousarray(array) for array in arrays]
    kinds = [f"{array.shape} {array.dtype}".encode() for array in arrays]
    contents = [k + a.tobytes() for k, a in zip(kinds, arrays, strict=True)]
    digests = sorted(hashlib.sha256(content).hexdigest() for content in contents)
    return hash_json(digests)


def hash_json(value: Any) -> str:
    """Hash something by its JSON, which has every digit of a number."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()


def list_arrays(model: Model[Any, Any]) -> Iterator[numpy.ndarray]:
    """List all weights of a model, those of its PyTorch modules too."""
    for node in model.walk():
        for name in node.param_names:
            if node.has_param(name):
                yield numpy.asarray(node.get_param(name))
        for shim in node.shims:
            module = getattr(shim, "_model", None)
            if isinstance(module, torch.nn.Module):
                for tensor in module.state_dict().values():
                    yield tensor.detach().cpu().numpy()


def hash_weights(nlp: Language) -> str:
    """Hash the weights of all components."""
    models = [getattr(pipe, "model", None) for _, pipe in nlp.pipeline]
    models = [model for model in models if isinstance(model, Model)]
    return hash_arrays([array for model in models for array in list_arrays(model)])


def predict(nlp: Language, texts: list[Text]) -> Json:
    """Recognize entities by the last component, and hash them and their probabilities.
    Return the hashes, the number of entities, and the micro-F1.
    """
    key = nlp.pipeline[-1][1].spans_key  # type: ignore[attr-defined]
    found: list[Any] = []
    scores: list[Any] = []
    right = predicted = marked = 0
    docs = nlp.pipe([make_input(nlp, text) for text in texts])
    for doc, text in zip(docs, texts, strict=True):
        in_words = "words" in text
        ents = [
            [ent.start, ent.end, ent.label_]
            if in_words
            else [ent.start_char, ent.end_char, ent.label_]
            for ent in doc.ents
        ]
        group = doc.spans[key]
        spans = [[span.start, span.end, span.label_] for span in group]
        found.append([ents, spans])
        scores.append([float(score) for score in group.attrs["scores"]])
        gold = [list(entity) for entity in text["entities"]]
        right += sum(ent in gold for ent in ents)
        predicted += len(ents)
        marked += len(gold)
    f1 = 2 * right / (predicted + marked) if predicted + marked else 0.0
    return {
        "entities": hash_json(found),
        "scores": hash_json(scores),
        "found": predicted,
        "f1": f1,
    }


def load_source(request: Json, name: str) -> Language:
    """Load a source of the checkout, made anew by its own code."""
    folder = request["encoders"].get(name)
    cache = Path(request["cache"])
    return spacy_epnet.load_source(name, encoder=folder, cache=cache)


def adapt_sources(request: Json) -> Json:
    """Adapt a source to each support set, and recognize test texts."""
    nlp = load_source(request, request["source"])
    results = {}
    for name, case in request["cases"].items():
        support = make_support(case["support"])
        adapted = spacy_epnet.adapt(nlp, support, check=False).nlp
        weights = hash_weights(adapted)
        results[name] = {"weights": weights, **predict(adapted, case["test"])}
    return results


def read_settings(root: Path, recognizer: str, config: str, folder: Path) -> Json:
    """Read how a recognizer is configured: from the file in the checkout, or as the
    checkout's `init-config` writes it.
    """
    path = root / "configs" / f"{config}.cfg"
    if not path.exists():
        path = folder / f"{config}.cfg"
        path.parent.mkdir(parents=True, exist_ok=True)
        command = ["init-config", recognizer, str(path)]
        command = [sys.executable, "-P", "-m", "spacy", "epnet", *command]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    settings: Json = load_config(path).interpolate()["components"][recognizer]
    return {key: value for key, value in settings.items() if key != "factory"}


def train_recognizers(request: Json) -> Json:
    """Train each recognizer for a few steps on a source's encoder, adapt it, and
    recognize test texts.
    """
    folder = Path(request["cache"]).parent / "configs"
    results = {}
    for config, recognizer in request["recognizers"].items():
        fix_random_seed(0)
        settings = read_settings(Path(request["root"]), recognizer, config, folder)
        nlp = load_source(request, request["source"])
        nlp.remove_pipe(nlp.pipe_names[-1])
        pipe: Any = nlp.add_pipe(recognizer, config=settings)
        examples = [
            Example(make_input(nlp, text), make_doc(nlp.vocab, text))
            for text in request["train"]
        ]
        fix_random_seed(0)
        pipe.initialize(lambda found=examples: found, nlp=nlp)
        optimizer = nlp.create_optimizer()
        list(nlp.get_pipe("transformer").pipe([eg.predicted for eg in examples]))  # type: ignore[attr-defined]
        for batch in list(minibatch(examples, 20))[:UPDATES]:
            pipe.update(batch, drop=0.1, sgd=optimizer)
        trained = hash_weights(nlp)
        case = request["case"]
        support = make_support(case["support"])
        adapted = spacy_epnet.adapt(nlp, support, check=False).nlp
        results[config] = {
            "trained": trained,
            "weights": hash_weights(adapted),
            **predict(adapted, case["test"]),
        }
    return results


def list_files(request: Json) -> Json:
    """List the files of the project of which code runs, beyond definitions, in `adapt`
    and in recognition.
    """
    nlp = load_source(request, request["source"])
    support = make_support(request["case"]["support"])
    text = request["case"]["test"][0]["text"]
    package = Path(request["root"], "spacy_epnet")
    with collect_files(package) as in_adapt:
        adapted = spacy_epnet.adapt(nlp, support).nlp
    with collect_files(package) as in_call:
        adapted(text)
    return {"adapt": sorted(in_adapt), "nlp(text)": sorted(in_call)}


def is_definition(frame: FrameType, package: Path) -> bool:
    """Whether code runs only because a module of the package is imported."""
    caller: FrameType | None = frame
    while caller is not None and caller.f_code.co_name != "<module>":
        caller = caller.f_back
    return caller is not None and Path(caller.f_code.co_filename).is_relative_to(
        package
    )


@contextmanager
def collect_files(package: Path) -> Iterator[set[str]]:
    """Collect the files of a package in which functions are called meanwhile."""
    files: set[str] = set()
    settled: set[CodeType] = set()

    def trace(frame: FrameType, event: str, argument: object) -> None:
        code = frame.f_code
        if event != "call" or code in settled:
            return
        path = Path(code.co_filename)
        is_ours = path.is_relative_to(package)
        if is_ours and is_definition(frame, package):
            return
        settled.add(code)
        if is_ours:
            files.add(str(path.relative_to(package)))

    sys.setprofile(trace)
    try:
        yield files
    finally:
        sys.setprofile(None)


def time_work(request: Json) -> Iterator[Json]:
    """Load a source and adapt it, then time a block of work at each further request."""
    nlp = load_source(request, request["source"])
    support = make_support(request["case"]["support"])
    adapted = spacy_epnet.adapt(nlp, support).nlp
    list(adapted.pipe(make_input(adapted, text) for text in request["case"]["test"]))
    folder = Path(request["cache"]).parent / "adapted"
    adapted.to_disk(folder)
    yield {}
    work: dict[str, Callable[[Json], object]] = {
        "recognition": lambda block: list(
            adapted.pipe([make_input(adapted, text) for text in block["texts"]])
        ),
        "adapting": lambda block: spacy_epnet.adapt(nlp, support),
        "loading": lambda block: spacy.load(folder),
    }
    for line in sys.stdin:
        block = json.loads(line)
        start = time.perf_counter()
        work[block["work"]](block)
        yield {"seconds": time.perf_counter() - start}


TASKS: dict[str, Callable[[Json], Json]] = {
    "adapt": adapt_sources,
    "train": train_recognizers,
    "files": list_files,
}


def main() -> None:
    """Answer requests."""
    out = sys.stdout
    request = json.loads(sys.stdin.readline())
    where = Path(spacy_epnet.__file__).parent.parent
    if where != Path(request["root"]):
        raise RuntimeError(f"spacy_epnet was imported from {where}")
    # Progress belongs to the terminal.
    with redirect_stdout(sys.stderr):
        task = sys.argv[1]
        answers = time_work(request) if task == "time" else [TASKS[task](request)]
        for answer in answers:
            print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    main()
