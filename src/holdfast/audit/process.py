"""One pass of the audit in a process of its own: told what to do on stdin, answering in lines of JSON.

The address comes on stdin since arguments can be seen by every user of the machine.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

from holdfast.audit.findings import Findings, Progress, Tick
from holdfast.audit.jobs import check_jobs
from holdfast.audit.seals import check_seals
from holdfast.kernel.errors import StoreError
from holdfast.kernel.proof.invariants import Violation
from holdfast.store.open import open_store

PASSES = {"jobs": check_jobs, "seals": check_seals}
LONGEST_LINE = 1 << 24


async def run_pass(url: str, name: str, most: int, tick: Tick) -> tuple[Findings, tuple[int, int]]:
    """One pass here: what it found and what it counted."""
    store = open_store(url)
    findings = Findings(most)
    try:
        return findings, await PASSES[name](store.reads, findings, tick)
    finally:
        await store.close()


async def run_in_process(url: str, name: str, most: int, tick: Tick) -> tuple[Findings, tuple[int, int]]:
    """One pass in a process of its own, started afresh."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        __name__,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=LONGEST_LINE,
    )
    findings = Findings(most)
    try:
        if process.stdin is None or process.stdout is None:
            raise StoreError(f"the audit of {name} has no pipes")
        process.stdin.write(json.dumps([url, name, most]).encode() + b"\n")
        await process.stdin.drain()
        async for line in process.stdout:
            match json.loads(line):
                case ["tick", *progress]:
                    tick(Progress(*progress))
                case ["found", *violation]:
                    findings.kept.append(Violation(*violation))
                case ["failed", message]:
                    raise StoreError(f"the audit of {name} failed: {message}")
                case ["done", total, counted]:
                    findings.total = total
                    return findings, tuple(counted)
        raise StoreError(f"the audit of {name} ended without a word")
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


def main() -> None:
    url, name, most = json.loads(sys.stdin.readline())

    def say(*words: Any) -> None:
        sys.stdout.write(json.dumps(words) + "\n")
        sys.stdout.flush()

    try:
        findings, counted = asyncio.run(run_pass(url, name, most, lambda progress: say("tick", *progress)))
    except Exception as error:  # the parent says it, in its own words
        say("failed", f"{type(error).__name__}: {error}")
        return
    for violation in findings.kept:
        say("found", *violation)
    say("done", findings.total, counted)


if __name__ == "__main__":
    main()
