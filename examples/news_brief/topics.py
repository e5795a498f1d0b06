"""CLASSIFY: a naive Bayes classifier, trained in a moment on two dozen lines that come with it. It knows four topics.

It is as weak as that sounds: words that it has never seen tell it nothing. To use a model of your own, replace
`topic_of`.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from functools import cache
from pathlib import Path

WORD = re.compile(r"[a-z]+")
LEAST_SURE = 0.35
"""Below this share of the probability the answer is not worth giving."""


@cache
def stop_words() -> frozenset[str]:
    """Words that every topic has."""
    return frozenset(Path(__file__).with_name("stop_words.txt").read_text().split())


def words(text: str) -> list[str]:
    return [word for word in WORD.findall(text.lower()) if len(word) > 2 and word not in stop_words()]


@cache
def trained() -> dict[str, Counter[str]]:
    counts: dict[str, Counter[str]] = {}
    for line in Path(__file__).with_name("training.txt").read_text().splitlines():
        topic, _, text = line.partition("\t")
        counts.setdefault(topic, Counter()).update(words(text))
    return counts


def topic_of(text: str) -> tuple[str | None, float]:
    """The likeliest topic and its probability; None when it is too unsure."""
    counts = trained()
    vocabulary = {word for counter in counts.values() for word in counter}
    known = [word for word in words(text) if word in vocabulary]
    scores = {}
    for topic, counter in counts.items():
        total = counter.total() + len(vocabulary)
        scores[topic] = sum(math.log((counter[word] + 1) / total) for word in known)
    highest = max(scores.values())
    shares = {topic: math.exp(score - highest) for topic, score in scores.items()}
    best = max(shares, key=lambda topic: shares[topic])
    sure = shares[best] / sum(shares.values())
    return (best if known and sure >= LEAST_SURE else None), round(sure, 3)
