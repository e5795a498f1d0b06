"""What every implementation of `holdfast.store.port.Store` has to do: checks that run on the real database.

Each of `CHECKS` is given a `Pair` of stores on a fresh `Database`, made by `pair_of`, and fails with an AssertionError:
parametrize a test by them. What it leaves behind has to stand the audit.
"""

from __future__ import annotations

from holdfast.testing.store_conformance import asked, read, worked
from holdfast.testing.store_conformance.pair import Check, Database, Pair, pair_of

__all__ = ["CHECKS", "Check", "Database", "Pair", "pair_of"]

CHECKS: tuple[Check, ...] = (*worked.CHECKS, *asked.CHECKS, *read.CHECKS)
