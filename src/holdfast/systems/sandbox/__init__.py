"""Commands in a sandbox."""

from __future__ import annotations

from holdfast.catalog import System

SYSTEM = System(name="sandbox", lifecycles=("holdfast.systems.sandbox.lifecycle:SANDBOX",))

__all__ = ["SYSTEM"]
