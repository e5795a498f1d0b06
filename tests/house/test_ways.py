"""No way through the house gets longer: hands that it goes through, threads that it changes, trips to the database.

Who makes a way shorter lowers its figures here; `python -m tests.house.ways URL --verbose` shows each step of a walk.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.house.ways import WAYS, Figures, walked

HELD = {
    "sqlite": {
        "claim": Figures(hops=19, threads=4, trips=2, statements=7),
        "run": Figures(hops=6, threads=2, trips=0, statements=0),
        "finish": Figures(hops=16, threads=2, trips=1, statements=5),
        "node": Figures(hops=38, threads=10, trips=4, statements=16),
        "submit": Figures(hops=18, threads=2, trips=1, statements=4),
        "seal": Figures(hops=22, threads=10, trips=4, statements=6),
        "read": Figures(hops=15, threads=4, trips=1, statements=2),
        "change": Figures(hops=29, threads=4, trips=1, statements=10),
        "event": Figures(hops=20, threads=4, trips=2, statements=2),
    },
    "postgres": {
        "claim": Figures(hops=12, threads=0, trips=2, statements=2),
        "run": Figures(hops=6, threads=2, trips=0, statements=0),
        "finish": Figures(hops=9, threads=0, trips=1, statements=4),
        "node": Figures(hops=31, threads=2, trips=4, statements=8),
        "submit": Figures(hops=12, threads=2, trips=1, statements=1),
        "seal": Figures(hops=17, threads=2, trips=5, statements=5),
        "read": Figures(hops=10, threads=2, trips=1, statements=2),
        "change": Figures(hops=22, threads=2, trips=1, statements=10),
        "event": Figures(hops=17, threads=0, trips=3, statements=3),
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
