"""Commands in a sandbox."""

from holdfast.catalog import System

SYSTEM = System(
    name="sandbox",
    lifecycles=("holdfast.systems.sandbox.lifecycle:SANDBOX",),
    views="holdfast.systems.sandbox.views:VIEWS",
    problems="holdfast.systems.sandbox.problems:KINDS",
    forms=("holdfast.systems.sandbox.command_jobs:COMMAND",),
    demo="holdfast.systems.sandbox.demo:part",
)

__all__ = ["SYSTEM"]
