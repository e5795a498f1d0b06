"""Pipelines: stages in order, as one job."""

from holdfast.catalog import Noun, System

SYSTEM = System(
    name="pipeline",
    lifecycles=("holdfast.systems.pipeline.lifecycle:PIPELINE",),
    routes=("holdfast.systems.pipeline.routes.runs:router", "holdfast.systems.pipeline.routes.stream:router"),
    cli={
        "pipeline": Noun(
            "holdfast.systems.pipeline.cli.pipeline:app",
            "Runs of pipelines, stage by stage: list, show, run, watch, cancel.",
        )
    },
    demo="holdfast.systems.pipeline.demo:part",
)

__all__ = ["SYSTEM"]
