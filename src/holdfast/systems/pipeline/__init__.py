"""Pipelines: stages in order, as one job."""

from __future__ import annotations

from holdfast.catalog import System

SYSTEM = System(name="pipeline", lifecycles=("holdfast.systems.pipeline.lifecycle:PIPELINE",))

__all__ = ["SYSTEM"]
