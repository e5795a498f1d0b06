"""`holdfast seal`: seal the log up to now."""

from __future__ import annotations

from holdfast.cli.invocation import Call
from holdfast.cli.render import Column
from holdfast.views.job import fields_of


async def seal(*, call: Call) -> None:
    """Seal the log up to now. A chore does it all the time; this is for those who cannot wait."""
    from holdfast.chores.sealer import Sealer

    async with call.store() as store:
        seals = await Sealer(store).seal_all()
    names = ("number", "first_pos", "last_pos", "count", "head", "sealed_at")
    views = [fields_of(each, *names, head=each.head.hex()) for each in seals]
    call.print_list(views, "number", COLUMNS, "nothing to seal: the log is sealed up to now")


COLUMNS = (
    Column("seal", "number", right=True),
    Column("events", lambda view: f"{view['first_pos']}–{view['last_pos']}"),
    Column("count", right=True),
    Column("head", whole=True),
)
