"""What recognizers share that look at whole spans."""

from spacy.tokens import Span

from .base import FewShotRecognizer


class SpanRecognizer(FewShotRecognizer):
    """Recognizes entities among all spans of up to `max_width` tokens, which its model
    has as an attribute.
    """

    @property
    def max_width(self) -> int:
        """RETURNS (int): The longest entity that can be predicted, in tokens."""
        return self.model.attrs["max_width"]

    @property
    def limits(self) -> str:
        """RETURNS (str): What is true of entities that can't be predicted."""
        return (
            f"longer than max_width = {self.max_width} tokens, or beginning or ending "
            "in whitespace"
        )

    def can_predict(self, ent: Span) -> bool:
        """Whether an entity is a candidate."""
        is_short = ent.end - ent.start <= self.max_width
        return is_short and not (ent[0].is_space or ent[-1].is_space)
