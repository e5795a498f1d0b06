"""`holdfast schedule` on both stores."""

import asyncio

from holdfast.chores.scheduler import Schedule, Scheduler
from holdfast.kernel.job import Spec
from holdfast.store.open import open_store
from tests.cli.conftest import Cli

TEMPLATE = Spec(id="", lifecycle="durable", task="report", payload='{"day":1}')


async def declare(url: str) -> None:
    store = open_store(url)
    await store.migrate()
    await Scheduler(store).declare([Schedule("nightly", TEMPLATE, "0 3 * * *", "Europe/Berlin", "skip")])
    await store.close()


def test_list_pause_resume_run_remove(cli: Cli, database: str) -> None:
    asyncio.run(declare(database))
    [shown] = cli("schedule", "list", "--json", "--db", database).json
    assert (shown["name"], shown["task"], shown["args"], shown["cron"]) == (
        "nightly",
        "report",
        {"day": 1},
        "0 3 * * *",
    )
    assert (shown["timezone"], shown["missed"], shown["paused"]) == ("Europe/Berlin", "skip", False)
    assert cli("schedule", "pause", "nightly", "--db", database).code == 0
    assert "paused" in cli("schedule", "list", "--db", database).out
    assert "next at" in cli("schedule", "resume", "nightly", "--db", database).err
    job_id = cli("schedule", "run", "nightly", "--db", database).out.strip()
    assert cli("job", "show", job_id, "--json", "--db", database).json["task"] == "report"
    assert cli("schedule", "run", "nightly", "--json", "--db", database).json["id"] != job_id
    assert cli("schedule", "list", "-o", "ids", "--db", database).out == "nightly\n"
    assert cli("schedule", "remove", "nightly", "--db", database).code == 0
    assert "no schedules" in cli("schedule", "list", "--db", database).err


def test_an_unknown_schedule_is_not_found(cli: Cli, database: str) -> None:
    asyncio.run(declare(database))
    for command in ("pause", "resume", "run", "remove"):
        assert cli("schedule", command, "daily", "--db", database).code == 3
