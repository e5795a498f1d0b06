"""`holdfast serve`: the HTTP API, until it is told to stop."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from holdfast.cli.invocation import Call
from holdfast.cli.opened import plainly
from holdfast.config import load, without_password
from holdfast.extras import needs

if TYPE_CHECKING:
    from holdfast.cli.invocation import Invocation
    from holdfast.runtime.inside import Inside


def serve(
    place: Annotated[str | None, Parameter(name="module:app")] = None,
    /,
    *,
    host: str | None = None,
    port: int | None = None,
    allow_host: list[str] | None = None,
    rate: float = 500.0,
    no_chores: bool = False,
    call: Call,
) -> int:
    """Serve the HTTP API until SIGTERM or Ctrl-C: it then lets requests end. Bound to more than this machine it needs
    a key: see `holdfast key create`.

    Args:
        place: The module, a colon, and the engine's name in it: without one, no task can be submitted by its name.
            Else --app, HOLDFAST_APP or app of holdfast.toml.
        host: The address to listen on; else HOLDFAST_HOST, else 127.0.0.1.
        port: The port; else HOLDFAST_PORT, else 54322. 0 takes any that is free.
        allow_host:
            A further name that the server goes by, such as that of a proxy before it; may be given several times.
        rate:
            Requests a second for each key, and for each address that should send one and does not; 0 is without limit.
        no_chores: Leave chores (lost leases, schedules, seals) to the workers.
    """
    found = load({"db": call.db, "app": call.app, "host": host, "port": port})
    engine = engine_or_bare(call, place or found.app)
    with needs("server", "the HTTP API"):
        from holdfast.api.running import serve as run
        from holdfast.api.settings import ApiSettings
    from holdfast.observe.logs import get_logger, set_up

    settings = ApiSettings(host=found.host, port=found.port, hosts=tuple(allow_host or ()), rate=rate)
    # Where lines are JSON, each of them is.
    say = get_logger("holdfast.cli").info if set_up() == "json" else call.say

    def ready(url: str) -> None:
        say(f"listening on {url}")
        say(f"{without_password(engine.url)}; docs at {url}/api/docs; Ctrl-C stops it")

    with plainly(engine.url):
        return run(engine, settings, chores=not no_chores, ready=ready)


def engine_or_bare(call: Invocation, place: str | None) -> Inside:
    """The engine that is named, or one without tasks on the database that is."""
    if place is not None:
        return call.engine(place)
    from holdfast.runtime.inside import Inside

    return Inside(call.settings.db)
