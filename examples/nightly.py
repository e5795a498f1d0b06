"""A schedule, played through some days by a clock that moves. On Sunday the clocks change, and it still ticks once."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

from holdfast import Context
from holdfast.testing import MovableClock, drain, temporary_engine

BERLIN = ZoneInfo("Europe/Berlin")
clock = MovableClock(round(datetime(2026, 3, 26, tzinfo=UTC).timestamp() * 1000))

with temporary_engine(clock=clock) as app:

    @app.task
    def report(ctx: Context, kind: str) -> None:
        print(f"{kind} report at {clock.now.astimezone(BERLIN):%a %d %b, %H:%M %Z}")

    app.schedule("nightly", report, cron="30 2 * * *", timezone="Europe/Berlin", args={"kind": "sales"})
    drain(app, move_clock="5d")
