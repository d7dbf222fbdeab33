"""Errors of this package. Each says what is wrong and what to do about it.

EPNetError               anything that this package reports; a ValueError
├── SettingError         an argument, an option or a setting that can't be used
│   └── InvalidSettingError   a setting with a value that it can't have
├── PipelineError        a pipeline or a component that can't do what is asked of it
├── LoadingError         a pipeline or a checkpoint that is missing, damaged or changed
├── EncoderError         an encoder that is missing, or isn't the one expected
├── CorpusError          a file that can't be read or written, with its path and line
├── SupportError         a support set that can't be learned from, with all problems
├── LearningError        an adaptation from which nothing was learned
├── AnnotationError      a corpus or a record that can't be annotated
├── EvaluationError      results that can't be measured, compared or shown
│   └── TooFewError      too few entities to show
├── OutputError          an output that would replace something else
└── MissingExtraError    an optional dependency isn't installed; an ImportError, too

The commands show these errors as a sentence. Anything else is a bug and shows its
traceback.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .adapting.support import Problem


class EPNetError(ValueError):
    """Base class of all errors that this package reports."""


class SettingError(EPNetError):
    """An argument, an option or a setting can't be used."""


class InvalidSettingError(SettingError):
    """A setting has a value that it can't have.

    setting (str): The name of the setting.
    value (Any): Its value.
    expected (str): The values that it can have, in words.
    """

    def __init__(self, setting: str, value: Any, expected: str):
        self.setting, self.value, self.expected = setting, value, expected
        super().__init__(
            f"Invalid value for the setting '{setting}': {value!r}. "
            f"Expected {expected}."
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.setting, self.value, self.expected)


class PipelineError(EPNetError):
    """A pipeline or a component can't do what is asked of it."""


class LoadingError(EPNetError):
    """A pipeline or a checkpoint is missing, damaged or changed."""


class EncoderError(EPNetError):
    """An encoder is missing, or isn't the one expected."""


class CorpusError(EPNetError):
    """A file can't be read or written.

    path (Path): The file.
    reason (str): What is wrong.
    line (Optional[int]): The line, from 1.
    """

    def __init__(self, path: Path, reason: str, line: int | None = None):
        self.path = path
        self.reason = reason
        self.line = line
        position = str(path) if line is None else f"{path}, line {line}"
        super().__init__(f"{position}: {reason}")

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.path, self.reason, self.line)


class SupportError(EPNetError):
    """A support set can't be learned from.

    problems (Iterable[Problem]): Where each problem is and what it is.
    """

    def __init__(self, problems: Iterable["Problem"]):
        self.problems = list(problems)
        lines = [f"- {problem.where}: {problem.what}." for problem in self.problems]
        super().__init__(
            "\n".join(
                ["Can't adapt to this support set:", *lines, "Nothing was changed."]
            )
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.problems,)


class LearningError(EPNetError):
    """Nothing could be learned from a support set."""


class AnnotationError(EPNetError):
    """A corpus or a record can't be annotated."""


class EvaluationError(EPNetError):
    """Results can't be measured, compared or shown."""


class TooFewError(EvaluationError):
    """There are too few entities to show."""


class OutputError(EPNetError):
    """An output would replace something else."""


class MissingExtraError(EPNetError, ImportError):
    """An optional dependency isn't installed."""


def shorten(text: str, length: int = 60) -> str:
    """Shorten a text to one line of a message."""
    text = " ".join(text.split())
    return text if len(text) <= length else f"{text[: length - 1]}…"
