"""INGEST, CLASSIFY, NEUTRALIZE, BRIEF, a summary, then EVALUATION and OPTIMIZATION where they are enabled."""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace

from examples.news_brief.reading import Article, read_feed
from examples.news_brief.scoring import LENGTHS, score
from examples.news_brief.topics import topic_of
from examples.news_brief.wording import loaded_in, toned_down
from holdfast import Engine, StageContext

app = Engine(os.environ.get("NEWS_BRIEF_DB"))


@dataclass
class Settings:
    feeds: list[str] = field(default_factory=lambda: ["harbour", "valley", "plains"])
    per_topic: int = 3
    enable_evaluation: bool = False
    enable_auto_optimize: bool = False


@dataclass
class Classified:
    article: Article
    topic: str
    sure: float


pipe = app.pipeline("news_brief", Settings, single=True, stale_after="2h")


@pipe.stage
def ingest(ctx: StageContext, config: Settings) -> list[Article]:
    articles = [article for name in ctx.track(config.feeds, "feeds") for article in read_feed(ctx, name)]
    if not articles:
        raise ValueError("no feed has an article")
    ctx.count(articles=len(articles), feeds=len(config.feeds))
    return articles


@pipe.stage
def classify(ctx: StageContext, ingest: list[Article]) -> list[Classified]:
    found = []
    for article in ctx.track(ingest, "articles"):
        topic, sure = topic_of(f"{article.title} {article.text}")
        if topic is None:
            ctx.error(article.id, f"no topic is likely enough ({sure:.0%})")
            continue
        found.append(Classified(article, topic, sure))
    ctx.count(classified=len(found))
    return found


@pipe.stage
def neutralize(ctx: StageContext, classify: list[Classified]) -> list[Classified]:
    sober = []
    for each in classify:
        article = each.article
        ctx.count(loaded_words=len(loaded_in(f"{article.title} {article.text}")))
        calm = replace(article, title=toned_down(article.title), text=toned_down(article.text))
        sober.append(replace(each, article=calm))
    return sober


@pipe.stage
def brief(ctx: StageContext, config: Settings, neutralize: list[Classified]) -> dict[str, list[str]]:
    lines = assembled(neutralize, config.per_topic)
    ctx.count(topics=len(lines), lines=sum(map(len, lines.values())))
    return lines


def assembled(articles: list[Classified], per_topic: int) -> dict[str, list[str]]:
    """The surest articles of each topic, a line each: its title, and the first sentence of its text."""
    chosen: dict[str, list[str]] = {}
    for each in sorted(articles, key=lambda one: (one.topic, -one.sure, one.article.id)):
        lines = chosen.setdefault(each.topic, [])
        if len(lines) < per_topic:
            first = each.article.text.partition(". ")[0].rstrip(".")
            lines.append(f"{each.article.title}. {first}. ({each.article.source})")
    return chosen


@pipe.stage
def summary(brief: dict[str, list[str]]) -> str:
    lines = sum(map(len, brief.values()))
    return f"{lines} stories on {', '.join(brief)}"


@pipe.stage(enabled="enable_evaluation")
def evaluation(brief: dict[str, list[str]], neutralize: list[Classified]) -> dict[str, float]:
    labelled = [each for each in neutralize if each.article.label]
    right = sum(each.topic == each.article.label for each in labelled)
    accuracy = round(right / len(labelled), 3) if labelled else 0.0
    return score(brief, {each.topic for each in neutralize}) | {"accuracy": accuracy}


@pipe.stage(enabled="enable_auto_optimize")
def optimization(config: Settings, evaluation: dict[str, float], neutralize: list[Classified]) -> dict[str, float]:
    """Try every length; without an evaluation there is nothing to do better than, and this stage is skipped."""
    topics = {each.topic for each in neutralize}
    scores = {length: score(assembled(neutralize, length), topics)["score"] for length in LENGTHS}
    best = max(scores, key=lambda length: (scores[length], -length))
    gain = round(scores[best] - evaluation["score"], 3)
    return {"per_topic": best, "score": scores[best], "gain": gain, "was": config.per_topic}
