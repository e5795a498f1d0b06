"""Crawls and ingestions."""

from __future__ import annotations

from holdfast.catalog import System

SYSTEM = System(
    name="crawl",
    lifecycles=("holdfast.systems.crawl.lifecycle:CRAWL",),
    views="holdfast.systems.crawl.views:VIEWS",
)

__all__ = ["SYSTEM"]
