"""Dead letters, from real causes: what they say, how they group, and how they are replayed or discarded."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from holdfast import Context, Engine, HoldfastError, PermanentError, TransientError, ValidationError
from holdfast.audit.auditor import audit
from holdfast.chores.reaper import Reaper
from holdfast.commands.replay import replay
from holdfast.kernel.durable import DURABLE
from holdfast.kernel.errors import NotFoundError
from holdfast.kernel.job import Job
from holdfast.store.port import DeadLetter, Store, Wanted
from holdfast.tasks.signature import ArgumentsError
from holdfast.testing import MovableClock, drain
from holdfast.views.letters import group_view, letter_view
from tests.engines import STORES, address, engine_on, on_store


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture(params=STORES)
def app(request: pytest.FixtureRequest, tmp_path: Path, clock: MovableClock) -> Iterator[Engine]:
    with engine_on(address(request, tmp_path), clock) as engine:
        yield engine


def one_letter(app: Engine, job_id: str) -> DeadLetter:
    [letter] = [each for each in app.dead_letters(resolved=None) if each.job_id == job_id]
    return letter


def poison(app: Engine) -> None:
    """A task that fails until its argument is mended."""

    @app.task(retries=1, backoff="1s", on_exhausted="dead_letter", name="fetch", queue="texts")
    def fetch(url: str, times: int = 1) -> str:
        if not url.startswith("https://"):
            raise TransientError(f"no route to '{url}'", code="network_error", context={"host": url})
        return f"{url} x {times}"


def kill(app: Engine, url: str = "ftp://a", **options: object) -> Job:
    job = app.submit("fetch", {"url": url}, **options)
    drain(app, move_clock="1m")
    assert job.state() == "dead_lettered"
    return job.job()


@pytest.mark.rule("D15", "D16", "D17")
def test_a_letter_says_all_that_a_person_needs(app: Engine) -> None:
    poison(app)
    job = kill(app, correlation_id="order-7")
    letter = one_letter(app, job.id)
    assert (letter.reason_code, letter.stage, letter.attempts) == ("exhausted_retries", "exec", 2)
    assert letter.last_owner is not None
    assert letter.last_lease_expires_at_ms is not None
    assert (letter.correlation_id, letter.task, letter.queue) == ("order-7", "fetch", "texts")
    view = letter_view(letter)
    assert view["last_error"]["code"] == "network_error"
    assert view["last_error"]["context"]["host"] == "ftp://a"
    assert (view["resolution"], view["replayed_as"]) == (None, None)


@pytest.mark.rule("D15", "D17")
def test_each_cause_has_its_reason_and_stage(app: Engine, clock: MovableClock) -> None:
    def dies(name: str, error: Exception) -> str:
        @app.task(retries=0, on_exhausted="dead_letter", name=name)
        def task() -> None:
            raise error

        return app.submit(name).id

    @app.task(retries=0, on_exhausted="dead_letter")
    def typed(n: int) -> int:
        return n

    broken = typed.submit(1).id
    app._inside.portal.call(_spoil(app, broken))
    ids = {
        "exhausted_retries": dies("tired", TransientError("no route")),
        "validation_failed": dies("invalid", ValidationError("no such user")),
        "policy_violation": dies("forbidden", PermanentError("not allowed")),
    }
    drain(app, move_clock="1m")
    found = {reason: one_letter(app, job_id) for reason, job_id in ids.items()}
    assert {reason: letter.reason_code for reason, letter in found.items()} == {reason: reason for reason in ids}
    assert {letter.stage for letter in found.values()} == {"exec"}
    letter = one_letter(app, broken)
    assert (letter.reason_code, letter.stage) == ("validation_failed", "input")


async def _spoil(app: Engine, job_id: str) -> None:
    """The code changed since the job was submitted: what is stored no longer fits."""
    task = app._inside.registry.get("typed")

    @app.task(retries=0, on_exhausted="dead_letter", name="typed2")
    def typed(n: list[str]) -> None: ...

    object.__setattr__(task, "work", app._inside.registry.get("typed2").work)


@pytest.mark.rule("D15")
def test_a_job_that_takes_its_workers_along_is_an_infrastructure_failure(app: Engine, clock: MovableClock) -> None:
    @app.task(retries=9, lease="60s")
    def crash(ctx: Context) -> None: ...

    job = crash.submit()
    for attempt in (1, 2, 3):
        app._inside.portal.call(_claim_and_die(app, attempt))
        clock.advance("61s")
        app._inside.portal.call(_reap(app))
    letter = one_letter(app, job.id)
    assert (letter.reason_code, letter.stage, letter.attempts, letter.last_owner) == (
        "infrastructure_failure",
        "exec",
        3,
        "worker-3",
    )
    assert letter.last_lease_expires_at_ms == clock() - 1_000


async def _claim_and_die(app: Engine, number: int) -> None:
    [job] = await (await app._inside.opened()).jobs.claim(["default"], 1, f"worker-{number}")
    assert job.attempt == number


async def _reap(app: Engine) -> None:
    await Reaper(await app._inside.opened()).run_once()


def test_a_replay_is_a_new_job_that_names_the_old_one(app: Engine) -> None:
    poison(app)
    old = kill(app, priority=3, tags=("a",), trace_id="t" * 32)
    new = app.replay(old.id, edits={"url": "https://a"})
    row = new.job()
    assert row.id != old.id
    assert (row.key, row.parent_id, row.task, row.queue, row.priority) == (f"dlq:{old.id}", old.id, "fetch", "texts", 3)
    assert (row.lifecycle, row.max_tries, row.lease_ms, row.tags) == (
        old.lifecycle,
        old.max_tries,
        old.lease_ms,
        old.tags,
    )
    assert row.correlation_id == old.id
    assert row.trace_id is not None
    assert row.trace_id != old.trace_id
    assert json.loads(row.payload or "") == {"url": "https://a"}
    [first] = new.events()
    assert (first.reason, first.cause) == ("replayed", old.id)
    drain(app, move_clock="1m")
    assert new.result(timeout=1) == "https://a x 1"
    assert app.get_job(old.id) == old  # a dead-lettered job stays dead, to its last column


def test_replayed_twice_is_the_same_job_whatever_became_of_it(app: Engine, clock: MovableClock) -> None:
    poison(app)
    old = kill(app)
    first = app.replay(old.id)
    assert app.replay(old.id, edits={"url": "https://b"}).id == first.id
    drain(app, move_clock="1m")
    assert first.state() == "dead_lettered"
    clock.advance("100d")
    assert app.replay(old.id).id == first.id
    assert one_letter(app, old.id).resolution == f"replayed:{first.id}"
    again = app.replay(first.id, edits={"url": "https://b"})
    drain(app, move_clock="1m")
    assert again.result(timeout=1) == "https://b x 1"


@pytest.mark.parametrize("database", STORES)
def test_of_sixteen_replays_at_once_one_makes_the_job(
    database: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    url = f"sqlite:///{tmp_path}/jobs.db" if database == "sqlite" else request.getfixturevalue("postgres_dsn")
    with engine_on(url, MovableClock()) as app:
        poison(app)
        old = kill(app)

        async def race(store: Store) -> list[str]:
            answers = await asyncio.gather(*(replay(store, [old.id]) for _ in range(16)))
            assert sum(answer[old.id].created for answer in answers) == 1
            return [answer[old.id].job_id for answer in answers]

        ids = on_store(app, race)
        assert len(set(ids)) == 1
        assert len(app.list_jobs(limit=50)) == 2


def test_edits_are_checked_where_the_task_is_known(app: Engine) -> None:
    poison(app)
    old = kill(app)
    with pytest.raises(ArgumentsError, match="times"):
        app.replay(old.id, edits={"times": "many"})
    with pytest.raises(ArgumentsError, match="colour"):
        app.replay(old.id, edits={"colour": "red"})
    assert one_letter(app, old.id).resolution is None
    assert len(app.list_jobs(limit=50)) == 1


def test_what_has_no_letter_cannot_be_replayed(app: Engine) -> None:
    poison(app)
    old, alive = kill(app), app.submit("fetch", {"url": "https://a"})
    for job_id in (alive.id, "01a1e486-9b94-7462-b48a-b24f9d0ff710", "what"):
        with pytest.raises(NotFoundError, match="dead letter"):
            app.replay(job_id)
    with pytest.raises(NotFoundError):
        on_store(app, replay, [old.id, alive.id])
    assert one_letter(app, old.id).resolution is None


def test_a_purged_payload_cannot_be_replayed(app: Engine) -> None:
    poison(app)
    old = kill(app)

    async def purge(store: Store) -> None:
        await store.upkeep.purge_payloads([old.id])

    on_store(app, purge)
    with pytest.raises(HoldfastError, match="was purged"):
        app.replay(old.id)


def test_groups_and_filters(app: Engine, clock: MovableClock) -> None:
    poison(app)

    @app.task(retries=0, on_exhausted="dead_letter")
    def other() -> None:
        raise ValidationError("no such user")

    urls = [kill(app, f"ftp://host-{n}").id for n in range(3)]
    clock.advance("5s")
    wrong = other.submit()
    drain(app)
    groups = on_store(app, lambda store: store.admin.dead.groups())
    # Messages that differ only in what they quote are one group.
    assert [(group.letters, group.example.task) for group in groups] == [(3, "fetch"), (1, "other")]
    assert groups[0].example.job_id == urls[-1]
    assert groups[0].first_at_ms <= groups[0].last_at_ms < groups[1].first_at_ms
    assert group_view(groups[1])["example"]["reason_code"] == "validation_failed"

    def chosen(**wanted: str) -> list[str]:
        return [letter.job_id for letter in app.dead_letters(**wanted)]

    assert chosen() == [wrong.id, *reversed(urls)]
    assert chosen(task="fetch") == urls[::-1]
    assert chosen(reason_code="validation_failed") == [wrong.id]
    assert chosen(fingerprint=groups[0].fingerprint) == urls[::-1]
    assert chosen(stage="commit") == []


def test_pages_of_letters(app: Engine) -> None:
    poison(app)
    jobs = [app.submit("fetch", {"url": f"ftp://{n}"}) for n in range(7)]
    drain(app, move_clock="1m")

    async def pages(store: Store) -> list[list[str]]:
        found, cursor = [], None
        while True:
            page = await store.admin.dead.page(Wanted(), limit=3, cursor=cursor)
            found.append([letter.job_id for letter in page.items])
            cursor = page.next_cursor
            if cursor is None:
                return found

    found = on_store(app, pages)
    assert [len(page) for page in found] == [3, 3, 1]
    assert sorted(job_id for page in found for job_id in page) == sorted(job.id for job in jobs)
    for cursor in ("here", "1.x", ".", "-1.01a1e486-9b94-7462-b48a-b24f9d0ff710"):
        with pytest.raises(HoldfastError, match="was not given out"):
            on_store(app, _page, cursor)


async def _page(store: Store, cursor: str) -> None:
    await store.admin.dead.page(Wanted(), cursor=cursor)


def test_a_discarded_letter_stays_on_record(app: Engine) -> None:
    poison(app)
    first, second = kill(app), kill(app)

    async def discard(store: Store) -> list[str]:
        return await store.admin.dead.discard([first.id, "what"], "not needed")

    assert on_store(app, discard) == [first.id]
    assert on_store(app, discard) == []
    assert one_letter(app, first.id).resolution == "discarded: not needed"
    assert [letter.job_id for letter in app.dead_letters()] == [second.id]
    assert on_store(app, lambda store: store.admin.dead.counts()) == (1, 1)
    # Discarded by mistake: it can still be helped.
    assert app.replay(first.id).job().parent_id == first.id


def test_replays_keep_the_count_and_every_invariant(app: Engine, clock: MovableClock) -> None:
    poison(app)
    jobs = [app.submit("fetch", {"url": f"ftp://{n}"}) for n in range(5)]
    drain(app, move_clock="1m")
    answers = on_store(app, replay, [job.id for job in jobs], edits={"url": "https://a"})
    assert list(answers) == sorted(job.id for job in jobs)
    on_store(app, replay, [job.id for job in jobs])
    drain(app, move_clock="1m")
    counts = on_store(app, lambda store: store.reads.counts())
    assert counts == {(DURABLE.name, "dead_lettered"): 5, (DURABLE.name, "succeeded"): 5}
    report = asyncio.run(audit(app.url))
    assert (report.jobs, report.total_violations) == (10, 0)
