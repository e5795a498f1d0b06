"""`holdfast lifecycle`: the tables that jobs follow."""

from __future__ import annotations

from typing import Annotated

from cyclopts import App, Parameter

from holdfast.catalog import KNOWN
from holdfast.cli.exits import Exit, UnavailableError
from holdfast.cli.invocation import Call, Output
from holdfast.cli.render import Column
from holdfast.config import DEFAULT_DB
from holdfast.kernel.errors import LifecycleError, NotFoundError
from holdfast.kernel.lifecycle import Lifecycle

app = App(name="lifecycle", help="The tables that jobs follow.")


@app.command(name="list")
async def list_(*, call: Call) -> None:
    """List the built-in lifecycles, and those that the database knows besides."""
    from holdfast.views.part_views import lifecycle_line

    columns = (
        Column("name", whole=True),
        Column("states", lambda each: " · ".join(dict.fromkeys(each["states"]))),
        Column("rows", "transitions", right=True),
        Column("", lambda each: "built in" if each["built_in"] else "registered"),
    )
    call.print_list([lifecycle_line(each) for each in (await known_lifecycles(call)).values()], "name", columns)


@app.command
async def show(name: str, *, mermaid: bool = False, call: Call) -> None:
    """Show a lifecycle: its states, rows and policies.

    Args:
        name: The lifecycle, such as durable.
        mermaid: Print a Mermaid state diagram instead.
    """
    lifecycle = KNOWN.get(name)
    if lifecycle is None:
        tables = await known_lifecycles(call)
        if name not in tables:
            raise NotFoundError("lifecycle", name, remedy=f"there are: {', '.join(tables)}")
        lifecycle = tables[name]
    if mermaid:
        from holdfast.cli.proof.mermaid import diagram

        print(diagram(lifecycle), end="")
    elif call.output is Output.TABLE:
        from holdfast.cli.proof.lifecycle_table import lifecycle_tables

        call.print(*lifecycle_tables(lifecycle))
    else:
        call.print_record(lifecycle.to_dict(), "", lifecycle.name)


@app.command
def check(where: Annotated[str, Parameter(name="module:lifecycle")], /, *, call: Call) -> int:
    """Import a lifecycle of your own and say whether its table holds.

    Args:
        where: The module, a colon, and the lifecycle's name in it. The current directory is looked in first.
    """
    from holdfast.cli.importing import imported

    try:
        lifecycle = imported(where, Lifecycle, "lifecycle", "shop.flows:ORDER")
    except LifecycleError as error:
        data = {
            "ok": False,
            "lifecycle": error.lifecycle,
            "rule": error.rule,
            "path": list(error.path),
            "message": error.message,
        }
        steps = "".join(f"\n  {number}. {step}" for number, step in enumerate(error.path, 1))
        what = error.message.partition(" (counterexample: ")[0]
        call.print_record(data, f"not ok: {what}\ncounterexample:{steps}", error.lifecycle)
        return Exit.ERROR
    states, transitions = len(lifecycle.states), len(lifecycle.transitions)
    data = {"ok": True, "lifecycle": lifecycle.name, "states": states, "transitions": transitions}
    call.print_record(data, f"ok: {lifecycle.name}, {states} states, {transitions} rows", lifecycle.name)
    return Exit.OK


async def known_lifecycles(call: Call) -> dict[str, Lifecycle]:
    """The built-in ones, and those registered in the database if there is one to ask."""
    try:
        async with call.store() as store:
            stored = await store.reads.lifecycles()
    except UnavailableError as error:
        if call.settings.db != DEFAULT_DB:
            call.say(f"built-in lifecycles only: {error.message}")
        return dict(KNOWN)
    return dict(KNOWN) | stored
