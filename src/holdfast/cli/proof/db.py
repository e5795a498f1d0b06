"""`holdfast db`: the database itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

from cyclopts import App, Parameter

from holdfast.cli.exits import Exit
from holdfast.cli.invocation import Call, Output
from holdfast.cli.opened import plainly, refuse_missing
from holdfast.cli.proof.db_check import Finding, findings
from holdfast.cli.proof.db_export import export
from holdfast.cli.proof.db_prune import prune
from holdfast.cli.render import rows, table
from holdfast.config import without_password

if TYPE_CHECKING:
    from holdfast.store.port import Planned

NOTHING = "nothing to apply: the schema is up to date\n"
Plan = Annotated[bool, Parameter(name="--plan", help="Only say what would be applied, and about how long it takes.")]

app = App(name="db", help="The database.")
app.command(export)
app.command(prune)


@app.command
async def migrate(*, plan: Plan = False, call: Call) -> None:
    """Make the database's tables, or bring them up to date. An SQLite file is made when there is none."""
    url = call.settings.db
    if plan:
        refuse_missing(url)
    with plainly(url):
        from holdfast.store.open import open_store

        store = open_store(url)
        try:
            if plan:
                return _show(call, await store.plan())
            applied = await store.migrate()
        finally:
            await store.close()
    data = {"db": without_password(url), "applied": applied}
    words = "".join(f"applied {name}\n" for name in applied) or NOTHING
    if call.output is Output.IDS:
        call.print_ids(applied)
    else:
        call.print_record(data, words.rstrip("\n"), "")


def _show(call: Call, planned: Sequence[Planned]) -> None:
    if call.output is Output.IDS:
        return call.print_ids(each.name for each in planned)
    moves = ", which moves {0.jobs:,} jobs and {0.events:,} events in about {0.about_s:,} s".format
    lines = [f"{each.name}{moves(each)}\n" if each.jobs else f"{each.name}\n" for each in planned]
    words = "".join(f"would apply {line}" for line in lines) or NOTHING
    data = {"db": without_password(call.settings.db), "pending": [each._asdict() for each in planned]}
    call.print_record(data, words.rstrip("\n"), "")


@app.command
async def check(*, call: Call) -> int:
    """Say whether the database can be reached, has this version's schema, and is undamaged."""
    url = call.settings.db
    found = await findings(url)
    ok = all(finding.ok for finding in found)
    if call.output is Output.TABLE:
        lines = [[each.check, "ok" if each.ok else "NOT OK", each.detail] for each in found]
        call.print(rows(table("check", "", "", whole=["check"]), lines))
    else:
        data = {"ok": ok, "db": without_password(url), "checks": [finding._asdict() for finding in found]}
        call.print_record(data, "", without_password(url))
    return Exit.OK if ok else _worst(found)


def _worst(found: list[Finding]) -> Exit:
    unreachable = any(each.check == "reachable" and not each.ok for each in found)
    return Exit.UNAVAILABLE if unreachable else Exit.ERROR
