"""INGEST: articles from RSS and Atom files. Items that lack something are noted and left out."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import feedparser

from holdfast import StageContext

FEEDS = Path(__file__).with_name("feeds")


@dataclass
class Article:
    id: str
    source: str
    title: str
    text: str
    link: str
    label: str | None = None
    """The topic that the feed itself names: never used to classify, only to check the classifier."""


def read_feed(ctx: StageContext, name: str) -> list[Article]:
    parsed = feedparser.parse((FEEDS / f"{name}.xml").read_bytes())
    if parsed.bozo and not parsed.entries:
        raise ValueError(f"{name} is no feed: {parsed.bozo_exception}")
    articles = []
    for entry in parsed.entries:
        item = f"{name}/{entry.get('id', '?')}"
        title, text = entry.get("title", "").strip(), entry.get("summary", "").strip()
        if not title or not text:
            ctx.error(item, "it has no title" if not title else "it has no text")
            continue
        label = entry.tags[0].term if entry.get("tags") else None
        articles.append(Article(item, parsed.feed.get("title", name), title, text, entry.get("link", ""), label))
    return articles
