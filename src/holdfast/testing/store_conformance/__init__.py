"""What every implementation of `holdfast.store.port.Store` has to do: checks that run on the real database.

Each of `CHECKS` is given a `Pair` of stores on a fresh `Database`, made by `pair_of`, and fails with an AssertionError:
parametrize a test by them. What it leaves behind has to stand the audit. Those of `batch_…` are about jobs that one
claim took and that part ways.
"""

from __future__ import annotations

from holdfast.testing.store_conformance import (
    asked,
    batch_at_once,
    batch_belongings,
    batch_leases,
    batch_log,
    batch_parts,
    batch_reports,
    read,
    worked,
)
from holdfast.testing.store_conformance.pair import Check, Database, Pair, pair_of

__all__ = ["CHECKS", "PARTS", "Check", "Database", "Pair", "pair_of"]

PARTS = (worked, asked, read, batch_reports, batch_parts, batch_leases, batch_at_once, batch_belongings, batch_log)
CHECKS: tuple[Check, ...] = tuple(check for part in PARTS for check in part.CHECKS)
