"""`holdfast doctor`: whether all is well here, line by line, and what helps where it is not."""

from __future__ import annotations

from rich.text import Text

from holdfast.cli.exits import Exit
from holdfast.cli.invocation import Call, Output
from holdfast.cli.render import rows, table
from holdfast.config import without_password

COLOURS = {"ok": "green", "warn": "yellow", "bad": "bold red"}


async def doctor(*, call: Call) -> int:
    """Look whether all is well here, and what helps where it is not. Exit 1 when something is bad."""
    from holdfast.cli.operate.checkup import checkup

    url = call.settings.db
    found = await checkup(url, call.settings.app)
    bad = [each for each in found if each.level == "bad"]
    if call.is_json:
        call.print_json({"ok": not bad, "db": without_password(url), "checks": [each._asdict() for each in found]})
    elif call.output is Output.IDS:
        call.print_ids(each.check for each in found if each.level != "ok")
    else:
        made = table("", "check", "", whole=["", "check"])
        made.show_header = False
        lines: list[list[str | Text]] = []
        for each in found:
            words = Text(each.detail)
            if each.remedy:
                words.append(f"\n→ {each.remedy}", "bold" if each.level == "bad" else "dim")
            lines.append([Text(f"{each.level:4}", COLOURS[each.level]), each.check, words])
        call.print(rows(made, lines))
    return Exit.ERROR if bad else Exit.OK
