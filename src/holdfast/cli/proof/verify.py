"""`holdfast verify`: a certificate, checked without a database."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Any

from cyclopts import Parameter
from rich.console import Group, RenderableType
from rich.text import Text

from holdfast.audit.verdict import verify as verdict_on
from holdfast.cli.exits import Exit, UsageError
from holdfast.cli.invocation import Call
from holdfast.cli.render import long_time, pairs
from holdfast.kernel.errors import HoldfastError, NotFoundError
from holdfast.kernel.proof.certificate import CertificateVerdict
from holdfast.views.job import iso


def verify(file: Annotated[str, Parameter(name="FILE", allow_leading_hyphen=True)], /, *, call: Call) -> int:
    """Verify a job's certificate, as `holdfast job prove` printed it. Exit 1 when it does not hold.

    Args:
        file: The certificate's file, or - for stdin.
    """
    verdict = verdict_on(_read(file))
    data = verdict._asdict()
    data["sealed_at"] = iso(data.pop("sealed_at_ms"))
    call.print_record(data, _words(verdict), verdict.job_id)
    return Exit.OK if verdict.ok else Exit.ERROR


def _words(verdict: CertificateVerdict) -> RenderableType:
    if not verdict.ok:
        return Text("not ok", "bold red").append("".join(f"\n  {each}" for each in verdict.problems), "default")
    facts = {
        "job": verdict.job_id,
        "state": f"{verdict.state} ({verdict.lifecycle})",
        "events": f"{verdict.events}, each proven to be in the sealed log",
        "sealed": long_time(iso(verdict.sealed_at_ms)),
        "head": f"{verdict.head}, of {verdict.seals} seals",
    }
    return Group(Text("ok", "bold green"), pairs(facts))


def _read(file: str) -> Any:
    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise NotFoundError("file", file, remedy="make one with `holdfast job prove ID > FILE`") from error
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be read: {error}", remedy="give a certificate's file") from error
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise HoldfastError(
            f"{file} is not a certificate: {error}", remedy="make one with `holdfast job prove ID > FILE`"
        ) from error
