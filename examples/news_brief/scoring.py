"""EVALUATION and OPTIMIZATION: how good a brief is, by three plain measures, and which length would have been best."""

from __future__ import annotations

from examples.news_brief.wording import loaded_in

LENGTHS = range(1, 6)
IDEAL_LINES = 8


def score(brief: dict[str, list[str]], topics: set[str]) -> dict[str, float]:
    """Each from 0 to 1: topics covered, words that are sober, a length that is read."""
    lines = [line for topic in brief.values() for line in topic]
    words = sum(len(line.split()) for line in lines)
    measures = {
        "coverage": len(brief.keys() & topics) / len(topics) if topics else 0.0,
        "neutrality": 1 - sum(len(loaded_in(line)) for line in lines) / words if words else 0.0,
        "brevity": 1 / (1 + abs(len(lines) - IDEAL_LINES) / IDEAL_LINES),
    }
    measures["score"] = sum(measures.values()) / len(measures)
    return {name: round(value, 3) for name, value in measures.items()}
