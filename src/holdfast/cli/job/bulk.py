"""Changes to many things at once: a dry run first, unless one thing was named or --yes was said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from cyclopts import Parameter

from holdfast.cli.exits import UsageError
from holdfast.cli.invocation import Call, Output

DryRun = Annotated[bool, Parameter(name="--dry-run", help="Only show which.")]
Yes = Annotated[bool, Parameter(name=["--yes", "-y"], help="Do it, however many they are.")]
Ids = Annotated[str, Parameter(name="ID")]


def is_dry(ids: Sequence[str], filters: Mapping[str, object], *, dry_run: bool, yes: bool) -> bool:
    """Whether to only show what would be done. UsageError when nothing, or too much, was chosen."""
    chosen = {name: value for name, value in filters.items() if value}
    if ids and chosen:
        raise UsageError(f"ids and --{min(chosen)} contradict each other", remedy="give ids, or filters")
    if not ids and not chosen:
        names = ", ".join(f"--{name}" for name in filters)
        raise UsageError("nothing was chosen", remedy=f"give an ID, or one of {names}")
    if dry_run and yes:
        raise UsageError("--dry-run and --yes contradict each other", remedy="give one of them")
    return dry_run or not (yes or len(ids) == 1)


def tell(
    call: Call, verb: str, done: str, items: Sequence[Mapping[str, Any]], left: Mapping[str, str], dry: bool
) -> None:
    """What was done, or would be: ids and words for people, one record for programs. An item has an `id`."""
    if call.is_json:
        report = {"dry_run": dry, "count": len(items), "items": list(items)}
        call.print_json(report | {"left": dict(left)})
        return
    if call.output is Output.IDS:
        call.print_ids(item["id"] for item in items)
    else:
        for item in items:
            more = "".join(f"  {value}" for name, value in item.items() if name != "id" and value)
            call.print(f"{item['id']}{more}")
    for identity, why in left.items():
        call.say(f"{identity} stays: {why}")
    count = f"{len(items):,} job{'' if len(items) == 1 else 's'}"
    if not items:
        call.say(f"nothing to {verb}")
    elif dry:
        call.say(f"dry run: {count} would be {done}; say --yes to {verb} {'it' if len(items) == 1 else 'them'}")
    else:
        call.say(f"{count} {done}")
