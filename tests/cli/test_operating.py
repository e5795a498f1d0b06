"""`holdfast run`, `job`, `dead`, `queue`, `workers`, `leases`, `doctor` on both stores, with real jobs."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from holdfast import Engine
from tests.cli import shop
from tests.cli.conftest import Answer, Cli

APP = "tests.cli.shop:app"


@pytest.fixture
def db(database: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The test's database, named by the environment; the app is named too."""
    monkeypatch.setenv("HOLDFAST_DB", database)
    monkeypatch.setenv("HOLDFAST_APP", APP)
    return database


@contextmanager
def working(db: str, **options: object) -> Iterator[None]:
    """A worker on the test's database, of the tasks that the command line submits."""
    engine = Engine(db)
    engine._inside.registry = shop.app._inside.registry
    with engine.worker(queues=["default", "texts", "flows"], concurrency=2):
        yield
    engine.close()


@pytest.fixture
def hf(cli: Cli, db: str) -> Cli:
    """The command line on the test's database. The app's own address is another: --db must win."""

    def run(*words: str) -> Answer:
        return cli("--db", db, *words)

    run("db", "migrate")
    return run


def submitted(hf: Cli, *words: str) -> str:
    answer = hf("run", *words, "-o", "ids")
    assert answer.code == 0, answer.err
    return answer.out.strip()


def test_run_prints_an_id_and_checks_what_is_given(hf: Cli, tmp_path: Path) -> None:
    answer = hf("run", "add", "--arg", "a=3", "--arg", "b=4")
    assert answer.code == 0
    job_id = answer.out.strip()
    assert answer.err == f"queued in default; `holdfast job wait {job_id}`\n"
    assert hf("job", "show", job_id, "--json").json["payload"] == {"a": 3, "b": 4}
    assert not (tmp_path / "shop.db").exists()
    for words, code, told in [
        (["add", "--arg", "a=x"], 2, "a: Expected `int`, got `str`; it takes add(a: int, b: int = 1)"),
        (["add"], 2, "missing a required argument: 'a'"),
        (["add", "--arg", "a"], 2, "--arg 'a' is not name=value"),
        (["fetch", "--arg", "link=3"], 2, "missing a required argument: 'url'"),
        (["sub"], 3, "no task 'sub'; declared here: add, broken, count, echo, fetch, node"),
        (["add", "--arg", "a=1", "--delay", "soon"], 2, "delay is no duration"),
        (["add", "--arg", "a=1", "--wait", "--timeout", "never"], 2, "timeout is no duration"),
    ]:
        wrong = hf("run", *words)
        assert (wrong.code, wrong.out) == (code, "")
        assert told in wrong.err


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("1.5", 1.5),
        ("true", True),
        ("null", None),
        ('"1"', "1"),
        ("[1,2]", [1, 2]),
        ("a=b", "a=b"),
        ("", ""),
        ("NaN", "NaN"),
        ("{not json", "{not json"),
    ],
)
def test_values_are_json_where_they_read_as_json(cli: Cli, sqlite_db: str, text: str, value: object) -> None:
    job_id = cli("--db", sqlite_db, "--app", APP, "run", "echo", "-a", f"value={text}", "-o", "ids").out.strip()
    assert cli("--db", sqlite_db, "job", "show", job_id, "--json").json["payload"] == {"value": value}


@pytest.mark.parametrize(("text", "value"), [("3", "3"), ("12.50", "12.50"), ("null", "null"), ('"3"', "3")])
def test_what_a_task_takes_as_text_is_text(cli: Cli, sqlite_db: str, text: str, value: str) -> None:
    job_id = cli("--db", sqlite_db, "--app", APP, "run", "fetch", "-a", f"url={text}", "-o", "ids").out.strip()
    assert cli("--db", sqlite_db, "job", "show", job_id, "--json").json["payload"] == {"url": value}


def test_a_key_gives_the_same_job_and_a_delay_holds_it_back(hf: Cli) -> None:
    first = submitted(hf, "add", "-a", "a=1", "--key", "k", "--delay", "5m", "--queue", "slow", "--priority", "7")
    assert submitted(hf, "add", "-a", "a=1", "--key", "k") == first
    job = hf("job", "show", first, "--json").json
    assert (job["queue"], job["priority"], job["key"]) == ("slow", 7, "k")
    assert job["due_at"] > job["created_at"]
    assert hf("job", "explain", first).out.startswith("queued: due in ")
    hastened = hf("job", "retry", first)
    assert (hastened.code, hastened.err) == (0, "due now\n")
    assert hf("job", "explain", first, "--json").json["command"] == f"holdfast worker {APP} -q slow"


@pytest.mark.slow
def test_waiting_ends_as_the_job_does(hf: Cli, db: str) -> None:
    with working(db):
        done = hf("run", "add", "-a", "a=3", "--wait")
        assert (done.code, done.out, done.err) == (0, "4\n", "")
        failed = hf("run", "broken", "--wait")
        assert (failed.code, failed.out) == (10, "")
        assert "failed: bad_request: never" in failed.err
        assert "why: holdfast job explain " in failed.err
        job_id = submitted(hf, "add", "-a", "a=1")
        assert hf("job", "wait", job_id, "--json").json["result"] == 2
        long = submitted(hf, "count", "-a", "n=400")
        waited = hf("job", "wait", long, "--timeout", "0.3")
        assert (waited.code, waited.out) == (124, "")
        assert f"{long} has not ended after 0.3 s; it goes on" in waited.err
        threading.Timer(0.5, lambda: _cancel(db, long)).start()
        assert hf("job", "wait", job_id, long).code == 11
        watched = hf("job", "watch", long)
        assert (watched.code, watched.out) == (11, "")
        assert watched.err.startswith("cancelled: stopped by ")
    assert hf("job", "wait").code == 2
    assert hf("job", "wait", "what").code == 3


def _cancel(db: str, job_id: str) -> None:
    engine = Engine(db)
    engine.cancel_job(job_id, "enough")
    engine.close()


@pytest.mark.slow
def test_a_job_is_watched_and_leaves_logs_and_artifacts(hf: Cli, db: str) -> None:
    with working(db):
        job_id = submitted(hf, "count", "-a", "n=50")
        watched = hf("job", "watch", job_id)
        assert watched.code == 0
        lines = watched.err.splitlines()
        assert lines[-1].startswith("succeeded: ended after ")
        assert any("of 50 done" in line for line in lines)
    said = hf("job", "logs", job_id, "--json").json
    assert {line["type"] for line in said} == {"job_progress"}
    assert said[-1]["payload"]["total"] == 50
    assert " of 50 (" in hf("job", "logs", job_id, "--follow").out
    assert hf("job", "artifacts", job_id, "-o", "ids").out == "report.txt\n"
    assert hf("job", "artifacts", job_id, "--json").json[0]["size"] == len("counted 50\n")
    assert hf("job", "artifacts", job_id, "report.txt", "--out", "copy.txt").code == 0
    assert Path("copy.txt").read_text() == "counted 50\n"
    assert hf("job", "artifacts", job_id, "none.txt").code == 3


@pytest.mark.rule("W11", "W12", "W13")
def test_cancel_and_resume(hf: Cli) -> None:
    job_id = submitted(hf, "node")
    assert [job["id"] for job in hf("job", "list", "--state", "CREATED", "--json").json["items"]] == [job_id]
    answer = hf("job", "cancel", job_id, "--reason", "not needed")
    assert (answer.code, answer.err) == (0, "1 job cancelled\n")
    assert hf("job", "events", job_id, "--json").json[-1]["reason"] == "not needed"
    assert hf("job", "explain", job_id, "--json").json["command"] == f"holdfast job resume {job_id}"
    again = hf("job", "cancel", job_id)
    assert again.code == 5
    assert "no cancel from CANCELLED" in again.err
    resumed = hf("job", "resume", job_id, "--json")
    assert (resumed.code, resumed.json["state"]) == (0, "CREATED")
    assert hf("job", "resume", job_id).code == 5


@pytest.mark.slow
def test_many_are_cancelled_only_with_yes(hf: Cli) -> None:
    ids = [submitted(hf, "add", "-a", f"a={n}") for n in range(3)]
    other = submitted(hf, "node")
    dry = hf("job", "cancel", "--task", "add")
    assert dry.code == 0
    assert dry.err == "dry run: 3 jobs would be cancelled; say --yes to cancel them\n"
    assert sorted(line.split()[0] for line in dry.out.splitlines()) == ids
    assert hf("job", "cancel", *ids[:2]).err.startswith("dry run: 2 jobs")
    assert hf("job", "list", "-o", "ids", "--state", "cancelled").out == ""
    done = hf("job", "cancel", "--task", "add", "--yes", "--reason", "all", "--json").json
    assert (done["dry_run"], done["count"], done["left"]) == (False, 3, {})
    assert sorted(hf("job", "list", "-o", "ids", "--state", "cancelled").out.split()) == ids
    assert hf("job", "cancel", "--task", "add", "--yes").err == "nothing to cancel\n"
    assert hf("job", "cancel", other, "--dry-run").err.startswith("dry run: 1 job would be cancelled")
    for words, told in [
        ([], "nothing was chosen; give an ID, or one of --state, --task, --queue, --lifecycle"),
        ([other, "--task", "node"], "ids and --task contradict each other"),
        (["--task", "node", "--yes", "--dry-run"], "--dry-run and --yes contradict each other"),
    ]:
        wrong = hf("job", "cancel", *words)
        assert wrong.code == 2
        assert told in wrong.err


@pytest.mark.slow
@pytest.mark.rule("D15", "D16", "D17")
def test_dead_letters_from_end_to_end(hf: Cli, db: str) -> None:
    with working(db):
        ids = [submitted(hf, "fetch", "-a", f"url=ftp://{n}") for n in range(3)]
        assert hf("job", "wait", *ids).code == 10
    letters = hf("dead", "list", "--json").json["items"]
    assert {letter["job_id"] for letter in letters} == set(ids)
    for letter in letters:
        assert (letter["reason_code"], letter["stage"], letter["attempts"]) == ("exhausted_retries", "exec", 1)
        assert letter["last_error"]["code"] == "network_error"
        assert letter["last_owner"]
        assert letter["last_lease_expires_at"]
        assert letter["correlation_id"] == letter["job_id"]
    [group] = hf("dead", "groups", "--json").json
    assert (group["count"], group["example"]["task"]) == (3, "fetch")
    assert group["group"] in hf("dead", "groups").out
    assert hf("job", "explain", ids[0], "--json").json["command"] == f"holdfast dead replay {ids[0]}"

    dry = hf("dead", "replay", "--group", group["group"])
    assert dry.err == "dry run: 3 jobs would be replayed; say --yes to replay them\n"
    assert len(hf("job", "list", "-o", "ids").out.split()) == 3
    unknown = hf("dead", "replay", ids[0], "--edit", "link=3")
    assert (unknown.code, unknown.out) == (2, "")
    assert "it takes fetch(url: str)" in unknown.err
    one = hf("dead", "replay", ids[0], "--edit", "url=https://a", "--json").json["items"][0]
    assert (one["of"], one["created"]) == (ids[0], True)
    assert hf("dead", "replay", ids[0], "--json").json["items"][0] == one | {"created": False}
    new = hf("job", "show", one["id"], "--json").json
    assert (new["parent_id"], new["key"], new["payload"]) == (ids[0], f"dlq:{ids[0]}", {"url": "https://a"})
    with working(db):
        assert hf("job", "wait", one["id"]).out == '"got https://a"\n'
        rest = hf("dead", "replay", "--reason-code", "exhausted_retries", "--task", "fetch", "--yes", "-o", "ids")
        assert len(rest.out.split()) == 2
        assert hf("job", "wait", *rest.out.split()).code == 10
    # The old letters are resolved, the replays have died of the same, and have letters of their own.
    assert sorted(hf("dead", "list", "-o", "ids").out.split()) == sorted(rest.out.split())
    assert len(hf("dead", "list", "--all", "-o", "ids").out.split()) == 5
    discarded = hf("dead", "discard", "--group", group["group"], "--yes", "--reason", "old")
    assert (discarded.code, discarded.err) == (0, "2 jobs discarded\n")
    assert hf("dead", "list").err == "no dead letters wait\n"
    assert "discarded: old" in hf("dead", "list", "--all").out
    assert hf("dead", "discard", ids[0]).code == 5
    assert hf("job", "show", ids[0], "--json").json["state"] == "dead_lettered"
    assert hf("audit").code == 0


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["dead", "replay", "what"], 3, "no dead letter of job 'what'"),
        (["dead", "replay"], 2, "give an ID, or one of --group, --reason-code, --stage, --task"),
        (["dead", "list", "--reason-code", "sad"], 2, "there are: compensation_failed, dependency_unavailable"),
        (["dead", "list", "--stage", "boot"], 2, "there are: commit, exec, fetch, input, output"),
        (["dead", "list", "--cursor", "x"], 2, "was not given out by a list"),
        (["dead", "list", "--limit", "0"], 2, "use 1 to 500"),
        (["leases", "--limit", "0"], 2, "use 1 to 5000"),
        (["job", "logs", "what"], 3, "no job 'what'"),
        (["job", "artifacts", "what", "--out", "x"], 2, "--out needs the artifact's NAME"),
        (["run", "add"], 2, "no app was named; say --app module:app, or set HOLDFAST_APP"),
        (["run", "add", "--app", "nope:app"], 3, "no module 'nope'"),
        (["run", "add", "--app", "tests.cli.shop:shop"], 3, "it has: app"),
        (["run", "add", "--app", "tests.cli.shop:add"], 2, "is a Task, not an Engine"),
        (["run", "add", "--app", "shop"], 2, "app 'shop' is not module:name"),
        (["worker", "tests.cli.shop:app", "-q", "a:0"], 2, "queue 'a' has weight 0"),
        (["worker", "tests.cli.shop:app", "-c", "0"], 2, "concurrency is 0"),
        (["completion", "tcsh"], 2, "tcsh"),
    ],
)
def test_what_goes_wrong_says_what_helps(cli: Cli, sqlite_db: str, words: list[str], code: int, told: str) -> None:
    answer = cli("--db", sqlite_db, *words)
    assert (answer.code, answer.out) == (code, "")
    assert told in answer.err
    assert answer.err.count("\n") == 1


@pytest.mark.slow
def test_queues_workers_and_leases(hf: Cli, db: str) -> None:
    assert hf("queue", "list").err == "no queue has jobs, workers or a pause\n"
    assert hf("leases").err == "nobody holds a job\n"
    assert "holdfast worker module:app" in hf("workers").err
    paused = hf("queue", "pause", "texts", "--reason", "deploy")
    assert (paused.code, paused.out) == (0, "texts paused\n")
    held = submitted(hf, "fetch", "-a", "url=https://a")
    with working(db):
        running = submitted(hf, "count", "-a", "n=400")
        _until(lambda: hf("leases", "-o", "ids").out.split() == [running])
        [worker] = hf("workers", "--json").json
        assert (worker["alive"], worker["queues"], worker["concurrency"]) == (True, ["default", "texts", "flows"], 2)
        [lease] = hf("leases", "--json").json
        assert (lease["job_id"], lease["owner"], lease["lost"]) == (running, worker["owner"], False)
        queues = {queue["name"]: queue for queue in hf("queue", "list", "--json").json}
        assert (queues["default"]["running"], queues["default"]["workers"]) == (1, 1)
        assert (queues["texts"]["due"], queues["texts"]["paused"], queues["texts"]["reason"]) == (1, True, "deploy")
        assert "paused: deploy" in hf("queue", "list").out
        assert hf("job", "explain", held, "--json").json["command"] == "holdfast queue resume texts"
        assert hf("job", "explain", running).out.startswith("running: on ")
        time.sleep(1.2)  # longer than a worker goes without looking at pauses
        assert hf("job", "show", held, "--json").json["state"] == "queued"
        hf("job", "cancel", running, "--mode", "hard")
        assert hf("queue", "resume", "texts").err == ""
        assert hf("job", "wait", held, "--timeout", "10s").code == 0
    assert hf("queue", "resume", "texts").err == "it was not paused\n"


def _until(holds: object, seconds: float = 10.0) -> None:
    assert callable(holds)
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "not in time"
        time.sleep(0.05)


@pytest.mark.slow
def test_delete_is_for_what_is_over(hf: Cli) -> None:
    job_id = submitted(hf, "add", "-a", "a=1")
    refused = hf("job", "delete", job_id)
    assert refused.code == 5
    assert f"job {job_id} is queued; holdfast job cancel {job_id}, first" in refused.err
    hf("job", "cancel", job_id)
    assert hf("job", "delete", job_id, "--dry-run").code == 0
    assert hf("job", "show", job_id).code == 0
    assert hf("job", "delete", job_id).err == "1 job deleted\n"
    assert hf("job", "show", job_id).code == 3
    assert hf("audit").code == 0


def test_the_doctor_says_what_helps(hf: Cli, cli: Cli, db: str) -> None:
    well = hf("doctor", "--json")
    looks = {look["check"]: look for look in well.json["checks"]}
    own = {"journal", "disk"} if db.startswith("sqlite") else {"server", "clock", "durability"}
    shared = {"python", "sqlite", "database", "schema", "workers", "queue", "leases", "dead letters", "seals"}
    assert looks.keys() == own | shared
    # The server that tests share waits for no disk, and the doctor sees it.
    unsafe = looks.pop("durability", None)
    assert (well.code, well.json["ok"]) == ((0, True) if unsafe is None else (1, False))
    assert unsafe is None or unsafe["detail"] == "fsync is off, full_page_writes is off"
    assert {look["level"] for look in looks.values()} == {"ok"}
    submitted(hf, "add", "-a", "a=1")
    hf("queue", "pause", "texts")
    ill = {look["check"]: look for look in hf("doctor", "--json").json["checks"]}
    assert (ill["workers"]["level"], ill["workers"]["remedy"]) == ("warn", f"holdfast worker {APP}")
    assert (ill["queue"]["level"], ill["queue"]["remedy"]) == ("warn", "holdfast queue resume texts")
    assert "→ holdfast queue resume texts" in hf("doctor").out


def test_the_doctor_finds_no_database(cli: Cli, tmp_path: Path) -> None:
    answer = cli("doctor")
    assert answer.code == 1
    assert "there is no database at" in answer.out
    assert "holdfast db migrate" in answer.out
    assert list(tmp_path.iterdir()) == []


def test_the_database_may_be_the_apps(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shop.app._inside, "url", "sqlite:///shop.db")
    job_id = cli("run", "add", "-a", "a=1", "--app", APP, "-o", "ids").out.strip()
    assert (tmp_path / "shop.db").exists()
    assert cli("job", "list", "-o", "ids", "--app", APP).out.strip() == job_id
    assert cli("job", "list").code == 6
    (tmp_path / "holdfast.toml").write_text(f'app = "{APP}"\n')
    assert cli("job", "list", "-o", "ids").out.strip() == job_id
    monkeypatch.setenv("HOLDFAST_DB", "sqlite:///other.db")
    assert cli("job", "list").code == 6


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(cli: Cli, shell: str) -> None:
    answer = cli("completion", shell)
    assert (answer.code, answer.err) == (0, "")
    for word in ("holdfast", "replay", "doctor", "explain", "bash"):
        assert word in answer.out


@pytest.mark.rule("C03")
def test_the_triggers_of_a_crawl_are_shown(cli: Cli) -> None:
    names = ["accept", "start", "heartbeat", "progress", "complete", "error", "cancel"]
    shown = [line.split() for line in cli("lifecycle", "show", "crawl").out.splitlines()]
    assert [line[0] for line in shown[-7:]] == names
    assert list(json.loads(cli("lifecycle", "show", "crawl", "--json").out)["triggers"]) == names
