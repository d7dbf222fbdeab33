"""Support sets by greedy sampling, as the published ones were made."""

import random
from collections import Counter
from collections.abc import Sequence


def sample_greedily(
    mentions: Sequence[Counter[str]], shots: int, seed: int
) -> list[int]:
    """Draw sentences until every type has been seen often enough.

    Types that are in fewer sentences come first. Sentences are drawn without
    replacement from those that have the type, and all their entities count.

    mentions (Sequence[Counter[str]]): The entities of each sentence by type.
    shots (int): How many mentions of each type are wanted.
    seed (int): Decides what is drawn.
    RETURNS (List[int]): Indices of the sentences, in the order they were drawn.
    """
    rng = random.Random(seed)
    spread = Counter(label for counts in mentions for label in counts)
    drawn: dict[int, None] = {}  # a set that keeps the order
    found: Counter[str] = Counter()
    for label in sorted(spread, key=lambda label: (spread[label], label)):
        pool = [
            i for i, counts in enumerate(mentions) if label in counts and i not in drawn
        ]
        while found[label] < shots and pool:
            i = pool.pop(rng.randrange(len(pool)))
            drawn[i] = None
            found.update(mentions[i])
    return list(drawn)
