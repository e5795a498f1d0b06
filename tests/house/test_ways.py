"""No way through the house gets longer: hands that it goes through, threads that it changes, trips to the database.

Who makes a way shorter lowers its figures here; `python -m tests.house.ways URL --verbose` shows each step of a walk.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.house.ways import WAYS, Figures, walked

HELD = {
    "sqlite": {
        "claim": Figures(hops=19, threads=4, trips=2, statements=10),
        "run": Figures(hops=6, threads=2, trips=0, statements=0),
        "finish": Figures(hops=18, threads=2, trips=1, statements=7),
        "node": Figures(hops=40, threads=10, trips=4, statements=24),
        "submit": Figures(hops=18, threads=2, trips=1, statements=5),
        "seal": Figures(hops=25, threads=10, trips=4, statements=7),
        "read": Figures(hops=15, threads=4, trips=1, statements=2),
        "change": Figures(hops=29, threads=4, trips=1, statements=12),
        "event": Figures(hops=23, threads=4, trips=2, statements=3),
    },
    "postgres": {
        "claim": Figures(hops=12, threads=0, trips=2, statements=2),
        "run": Figures(hops=6, threads=2, trips=0, statements=0),
        "finish": Figures(hops=11, threads=0, trips=1, statements=4),
        "node": Figures(hops=33, threads=2, trips=4, statements=10),
        "submit": Figures(hops=12, threads=2, trips=1, statements=1),
        "seal": Figures(hops=20, threads=2, trips=5, statements=6),
        "read": Figures(hops=10, threads=2, trips=1, statements=2),
        "change": Figures(hops=22, threads=2, trips=1, statements=11),
        "event": Figures(hops=20, threads=0, trips=4, statements=4),
    },
}


@pytest.mark.slow
@pytest.mark.parametrize("store", ["sqlite", "postgres"])
def test_no_way_gets_longer(request: pytest.FixtureRequest, tmp_path: Path, store: str) -> None:
    url = f"sqlite:///{tmp_path}/jobs.db" if store == "sqlite" else request.getfixturevalue("postgres_dsn")
    found = walked(url)
    longer = {
        f"{way}: {name}": f"{getattr(found[way], name)}, and {getattr(HELD[store][way], name)} is held"
        for way in WAYS
        for name in Figures._fields
        if getattr(found[way], name) > getattr(HELD[store][way], name)
    }
    assert longer == {}
