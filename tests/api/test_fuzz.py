"""5,000 requests made up from the document, on both stores and with three keys: none fails the server, no answer is
anything but what the document says, and every operation is seen to do what it is for.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from schemathesis import Case

from holdfast import Context, Engine, PermanentError
from holdfast.api.access.keys import Scope, make_key
from holdfast.api.app import create_app
from holdfast.api.settings import ApiSettings
from holdfast.systems.flow.declare.flow import flows_of
from tests.api.fuzzing import Fuzz, Names, Side
from tests.api.shell import OPEN_TO_ALL
from tests.api.tasks import declare
from tests.engines import engine_on

REQUESTS = int(os.environ.get("HOLDFAST_FUZZ", "5000"))
SEED = int(os.environ.get("HOLDFAST_FUZZ_SEED", "20260801"))
SHARES = {Scope.READ: 0.2, Scope.WRITE: 0.3, Scope.ADMIN: 0.5}
"""Of the requests for a store: who may do more is asked more."""
SETTINGS = ApiSettings(host=OPEN_TO_ALL, rate=0, longest_wait_s=0.01)
ADD: dict[str, Any] = {"task": "add", "args": {"a": 1}}


def leave_things(ctx: Context, secret: str) -> dict[str, Any]:
    ctx.log.info("looked", at=secret, rows=3)
    ctx.progress(1, 2, urls_total=7)
    ctx.artifact("report.txt", b"all of it")
    ctx.artifact("a/b c.bin", bytes(range(256)))
    return {"text": "é\u2028", "n": 1.5, "none": None}


@pytest.fixture
def engines(tmp_path: Path, postgres_url: str) -> Iterator[list[Engine]]:
    """One on each store, with the same things to ask for."""
    with engine_on(f"sqlite:///{tmp_path}/jobs.db") as embedded, engine_on(postgres_url) as shared:
        for engine in (embedded, shared):
            declare(engine)
            engine.task(leave_things)
            engine.schedule("hourly", "add", cron="0 * * * *", args={"a": 1})
            pipe = engine.pipeline("letters")
            pipe.stage(_read)
            pipe.stage(_send)
            engine.flow("invoice").task(_read)
            engine.flow("post").task(_send)
        yield [embedded, shared]


def _read() -> dict[str, int]:
    return {"read": 3}


def _send() -> None:
    raise PermanentError("no post today")


def names_of(engine: Engine) -> Names:
    """Jobs in every state that a worker leaves them in, and the names of what there is beside them.

    What a case uses up is made for it.
    """
    with engine.worker(concurrency=2, queues=("default", "crawls")):
        done = [
            engine.submit("leave_things", {"secret": "x"}, key="kept"),
            engine.submit("add", {"a": 1}),
            engine.submit("flow", {"n": 1}),
            engine.submit("crawl", {"url": "http://x"}),
            *[engine.submit("boom", {"text": str(n)}) for n in range(6)],
            engine.submit("letters", {"config": {}}),
            flows_of(engine._inside)["post"].submit(),
        ]
        for job in done:
            job.wait(30)

    def waiting() -> str:
        return engine.submit("flow", {"n": 2}, delay="1h").id

    def cancelled() -> str:
        job = engine.submit("flow", {"n": 3})
        job.cancel("not now")
        return job.id

    def invoice() -> str:
        return flows_of(engine._inside)["invoice"].submit().id

    def stopped_invoice() -> str:
        engine.cancel_job(flow_id := invoice())
        return flow_id

    ids = [job.id for job in done] + [waiting(), cancelled()]
    of_a_job = {f"POST /api/jobs/{{id}}/{verb}": waiting for verb in ("cancel", "stop", "retry")}
    return {
        "{id}": [*ids, ids[0].upper(), "00000000-0000-7000-8000-000000000000"],
        "GET /api/jobs/{id}": [*ids, "succeeded", "QUEUED"],
        **of_a_job,
        "GET /api/jobs/{id}/stop": waiting,
        "POST /api/jobs/{id}/resume": cancelled,
        "POST /api/jobs/{id}/replay": [letter.job_id for letter in engine.dead_letters()],
        "DELETE /api/jobs/{id}": cancelled,
        "GET /api/jobs/{id}/artifacts/{name}": [ids[0]],
        "/api/jobs/{id}/artifacts/{name}": ["report.txt", "a/b c.bin"],
        "POST /api/flows/{flow}": ["invoice"],
        "/api/flows/{flow}": invoice,
        "/api/flows/{id}": invoice,
        "POST /api/flows/{id}/resume": stopped_invoice,
        "POST /api/flows/{id}/retry": [done[-1].id],
        "/api/pipeline/jobs/{id}": [done[-2].id, engine.submit("letters", {"config": {}}).id],
        "/api/queues/{name}": ["default", "crawls", "a b/c"],
        "/api/schedules/{name}": ["hourly"],
        "/api/lifecycles/{name}": ["durable", "crawl"],
    }


def sharpen(case: Case, side: Side) -> None:
    """A body that names what exists, and no version that does not: text that is made up names nothing."""
    case.headers.pop("If-Match", None)
    said: Any = case.body
    if isinstance(said, dict) and (better := _better(case.operation.label, said, side)) is not None:
        case.body = better


def _better(operation: str, said: dict[str, Any], side: Side) -> dict[str, Any] | None:
    plain: dict[str, Any] = {name: said[name] for name in ("dry_run", "reason") if name in said}
    if isinstance(plain.get("reason"), str):
        plain["reason"] = plain["reason"][:3] if plain["reason"].isalnum() else "why"  # most that is made up is refused
    match operation:
        case "POST /api/jobs" if "type" not in said:
            return {**said, **ADD}
        case "POST /api/jobs/batch":
            return {"jobs": [ADD] * 3}
        case "POST /api/jobs/cancel":
            return {**plain, "task": "add"}
        case "POST /api/pipeline/jobs":
            return {**said, "pipeline": "letters"}
        case "POST /api/flows/{flow}":
            return {}
        case "POST /api/dead/replay" | "POST /api/dead/discard":
            return {**plain, "ids": [letter.job_id for letter in side.engine.dead_letters(resolved=None)]}
    return None


@pytest.mark.slow
def test_no_request_fails_the_server_and_no_answer_drifts(engines: list[Engine]) -> None:
    apps = [create_app(engine._inside, SETTINGS) for engine in engines]
    names = [names_of(engine) for engine in engines]
    fuzz = Fuzz(apps[0].openapi(), sharpen)
    sent, good = 0, set[str]()
    for scope, share in SHARES.items():
        keys = [engine._inside.portal.call(_key(engine, scope)) for engine in engines]
        sides = [Side(*side) for side in zip(engines, apps, keys, names, strict=True)]
        run = fuzz.run(sides, round(REQUESTS * share / len(sides)), SEED)
        assert not run.findings, run.told(SEED)
        print(scope, run.sent, sorted(run.statuses.items()))
        sent += run.sent
        good |= {operation for operation, status in run.statuses if status < 300}
    assert sent >= REQUESTS
    assert {operation.label for operation in fuzz.operations} - good == set(), "never answered well"


async def _key(engine: Engine, scope: Scope) -> str:
    return (await make_key(await engine._inside.opened(), scope.value, scope)).token
