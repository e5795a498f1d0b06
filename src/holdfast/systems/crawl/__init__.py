"""Crawls and ingestions."""

from holdfast.catalog import System

SYSTEM = System(
    name="crawl",
    lifecycles=("holdfast.systems.crawl.lifecycle:CRAWL",),
    views="holdfast.systems.crawl.views:VIEWS",
    fields="holdfast.systems.crawl.fields:CrawlFields",
    demo="holdfast.systems.crawl.demo:part",
)

__all__ = ["SYSTEM"]
