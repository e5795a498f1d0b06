"""A job's certificate holds without a database and after payloads are gone, and not when it was changed."""

import copy
import json
from collections.abc import Iterator
from typing import Any

import pytest

from holdfast.audit.certificates import NotProvenError, prove
from holdfast.audit.verdict import verify
from holdfast.chores.sealer import Sealer
from holdfast.kernel.errors import NotFoundError
from tests.audit.made import Made

Path = tuple[str | int, ...]


@pytest.mark.rule("C16", "D19", "D27")
async def test_every_job_can_be_proven(made: Made) -> None:
    newest = await made.store.reads.last_seal()
    assert newest is not None
    for name, job_id in made.ids.items():
        job = await made.store.reads.get(job_id)
        assert job is not None
        certificate = json.loads(json.dumps(await prove(made.store, job_id)))
        verdict = verify(certificate)
        assert verdict.problems == [], name
        assert verdict.ok
        assert (verdict.job_id, verdict.events, verdict.head) == (job_id, job.version, newest.head.hex())
        assert (verdict.seals, verdict.sealed_at_ms) == (3, newest.sealed_at_ms)


async def test_an_event_that_is_not_sealed_cannot_be_proven(made: Made) -> None:
    job_id = await made.lives.submit("fresh")
    with pytest.raises(NotProvenError, match="not sealed yet; run `holdfast seal`"):
        await prove(made.store, job_id)
    await Sealer(made.store).seal_all()
    assert verify(await prove(made.store, job_id)).ok
    await made.lives.claim("fresh")
    with pytest.raises(NotProvenError):
        await prove(made.store, job_id)


async def test_an_unknown_job_is_not_found(made: Made) -> None:
    with pytest.raises(NotFoundError):
        await prove(made.store, "00000000-0000-7000-8000-000000000000")


async def test_an_event_that_was_changed_is_not_proven(made: Made) -> None:
    row, _ = await made.row_of(made.ids["rich"], 2)
    made.sql("UPDATE holdfast_log SET actor = 'mallory' WHERE pos = ?", row.pos)
    with pytest.raises(NotProvenError, match=r"event 2 .* is not as it was sealed; run `holdfast audit`"):
        await prove(made.store, made.ids["rich"])


async def test_a_certificate_holds_after_payloads_were_purged(made: Made) -> None:
    before = await prove(made.store, made.ids["rich"])
    await made.store.upkeep.purge_payloads([made.ids["rich"]])
    after = await prove(made.store, made.ids["rich"])
    assert after["job"]["payload"] is None
    assert after["job"]["payload_digest"] == before["job"]["payload_digest"]
    assert [event["payload"] for event in after["events"]] == [None] * 7
    assert verify(before).ok
    assert verify(after).ok


def leaves(part: Any, path: Path = ()) -> Iterator[Path]:
    """The way to every value that is no container."""
    items = part.items() if isinstance(part, dict) else enumerate(part) if isinstance(part, list) else ()
    for key, value in items:
        if isinstance(value, dict | list):
            yield from leaves(value, (*path, key))
        else:
            yield (*path, key)


def at(part: Any, path: Path) -> tuple[Any, Any]:
    """The container of a value, and its key there."""
    for key in path[:-1]:
        part = part[key]
    return part, path[-1]


def another(value: Any) -> Any:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    if isinstance(value, str) and len(value) == 64:
        return ("0" if value[0] != "0" else "1") + value[1:]
    return "x" if value is None else value + "x"


async def test_each_changed_field_fails(made: Made) -> None:
    certificate = json.loads(json.dumps(await prove(made.store, made.ids["rich"])))
    passed = []
    for path in leaves(certificate):
        forged = copy.deepcopy(certificate)
        part, key = at(forged, path)
        part[key] = another(part[key])
        if verify(forged).ok:
            passed.append(path)
    assert passed == []


async def test_each_removed_field_and_each_removed_event_fails(made: Made) -> None:
    certificate = json.loads(json.dumps(await prove(made.store, made.ids["rich"])))
    for path in leaves(certificate):
        forged = copy.deepcopy(certificate)
        part, key = at(forged, path)
        del part[key]
        assert not verify(forged).ok, path
    for number in range(len(certificate["events"])):
        forged = copy.deepcopy(certificate)
        del forged["events"][number]
        assert not verify(forged).ok, number
    for name in certificate:
        forged = copy.deepcopy(certificate)
        del forged[name]
        assert not verify(forged).ok, name


async def test_a_certificate_of_before_a_table_grew_still_holds(made: Made) -> None:
    """An earlier version's table had some of today's rows; one with a row more was never ours."""
    certificate = json.loads(json.dumps(await prove(made.store, made.ids["second"])))
    rows = certificate["lifecycle"]["transitions"]
    spare = next(row for row in rows if row["command"] == "hasten")
    earlier = {**certificate["lifecycle"], "transitions": [row for row in rows if row is not spare]}
    assert verify({**certificate, "lifecycle": earlier}).ok
    more = {**certificate["lifecycle"], "transitions": [*rows, {**spare, "command": "leap", "target": "succeeded"}]}
    assert not verify({**certificate, "lifecycle": more}).ok


async def test_events_of_another_job_do_not_pass_for_this_one(made: Made) -> None:
    mine, other = [await prove(made.store, made.ids[name]) for name in ("second", "lost")]
    forged = {**mine, "events": other["events"], "seals": other["seals"]}
    assert not verify(forged).ok
    assert not verify({**mine, "job": other["job"]}).ok
    assert not verify({**mine, "lifecycle": other["lifecycle"] | {"name": "mine"}}).ok


@pytest.mark.parametrize("data", [{}, {"format": "x"}, [], "text", None, {"format": 1, "job": 2, "head": 3}])
def test_what_is_no_certificate_fails_without_raising(data: Any) -> None:
    verdict = verify(data)
    assert not verdict.ok
    assert verdict.problems[0].startswith("not a certificate")
