"""`holdfast seal`: seal the log up to now."""

from __future__ import annotations

from holdfast.cli.invocation import Call, Output
from holdfast.cli.render import rows, table
from holdfast.views.job import iso


async def seal(*, call: Call) -> None:
    """Seal the log up to now. A chore does it all the time; this is for those who cannot wait."""
    from holdfast.chores.sealer import Sealer

    async with call.store() as store:
        seals = await Sealer(store).seal_all()
    if call.is_json:
        call.print_json(
            [
                {
                    "number": each.number,
                    "first_pos": each.first_pos,
                    "last_pos": each.last_pos,
                    "count": each.count,
                    "head": each.head.hex(),
                    "sealed_at": iso(each.sealed_at_ms),
                }
                for each in seals
            ]
        )
    elif call.output is Output.IDS:
        call.print_ids(each.number for each in seals)
    elif not seals:
        call.say("nothing to seal: the log is sealed up to now")
    else:
        lines = [
            [str(each.number), f"{each.first_pos}–{each.last_pos}", str(each.count), each.head.hex()] for each in seals
        ]
        call.print(rows(table("seal", "events", "count", "head", right=["seal", "count"], whole=["head"]), lines))
