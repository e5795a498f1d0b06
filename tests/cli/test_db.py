"""`holdfast db`, and what every command says of a database that it cannot use."""

import json
import sqlite3
from pathlib import Path

import pytest

from holdfast.store import migrate
from holdfast.store.statements import migrations
from tests.cli.conftest import Cli
from tests.cli.seeds import job_id

READS = [
    ["job", "list"],
    ["job", "show", job_id("done")],
    ["job", "events", job_id("done")],
    ["job", "prove", job_id("done")],
    ["audit"],
    ["seal"],
    ["db", "check"],
]


def known(url: str) -> list[str]:
    return [name for name, _ in migrations("sqlite" if url.startswith("sqlite") else "postgres")]


def test_migrate_says_what_it_applied_and_then_that_there_is_nothing(cli: Cli, empty_db: str) -> None:
    first = cli("db", "migrate", "--db", empty_db)
    assert (first.code, first.out) == (0, "".join(f"applied {name}\n" for name in known(empty_db)))
    second = cli("db", "migrate", "--db", empty_db)
    assert (second.code, second.out) == (0, "nothing to apply: the schema is up to date\n")
    assert cli("db", "migrate", "--db", empty_db, "--json").json["applied"] == []


def test_a_plan_says_what_would_be_applied_and_applies_nothing(cli: Cli, empty_db: str) -> None:
    missing = cli("db", "migrate", "--plan", "--db", empty_db)
    if empty_db.startswith("sqlite"):
        assert missing.code != 0
        assert "there is no database" in missing.err
    else:
        assert missing.out == "".join(f"would apply {name}\n" for name in known(empty_db))
    assert cli("db", "migrate", "--db", empty_db).code == 0
    planned = cli("db", "migrate", "--plan", "--db", empty_db)
    assert (planned.code, planned.out) == (0, "nothing to apply: the schema is up to date\n")
    assert cli("db", "migrate", "--plan", "--db", empty_db, "--json").json["pending"] == []


def test_check_of_a_good_database(cli: Cli, shared_db: str) -> None:
    answer = cli("db", "check", "--db", shared_db, "--json")
    assert answer.code == 0
    assert answer.json["ok"]
    details = {each["check"]: each["detail"] for each in answer.json["checks"]}
    assert list(details) == ["reachable", "server", "integrity", "schema"]
    assert details["schema"] == f"up to date, at {known(shared_db)[-1]}"
    assert details["server"].startswith(("SQLite 3.", "PostgreSQL 1"))
    assert "up to date" in cli("db", "check", "--db", shared_db).out


@pytest.mark.slow
def test_prune_counts_first_and_removes_what_was_kept_long_enough(cli: Cli, seeded_db: str) -> None:
    """The seeded jobs ended in 2023: those whose lifecycle keeps them for a time are over it."""
    before = cli("job", "list", "-o", "ids", "--db", seeded_db).out.split()
    counted = cli("db", "prune", "--db", seeded_db)
    assert (counted.code, counted.err) == (0, "dry run: say --yes to remove it\n")
    assert counted.out == "1 job would be removed\n"
    assert cli("job", "list", "-o", "ids", "--db", seeded_db).out.split() == before
    assert cli("db", "prune", "--db", seeded_db, "--yes", "--json").json["jobs"] == 1
    assert job_id("canceled") not in cli("job", "list", "-o", "ids", "--db", seeded_db).out
    assert cli("db", "prune", "--db", seeded_db).out == "0 jobs would be removed\n"
    assert cli("audit", "--db", seeded_db).code == 0
    assert cli("db", "prune", "--dry-run", "--yes", "--db", seeded_db).code == 2


def test_export_prints_every_job_with_its_events(cli: Cli, shared_db: str) -> None:
    answer = cli("db", "export", "--db", shared_db)
    lines = [json.loads(line) for line in answer.out.splitlines()]
    listed = cli("job", "list", "-o", "ids", "--db", shared_db).out.split()
    assert [line["id"] for line in lines] == sorted(listed)
    for line in lines:
        events = line.pop("events")
        assert events == cli("job", "events", line["id"], "--json", "--db", shared_db).json
        assert len(events) == line["version"]
    assert answer.err == f"{len(lines)} jobs, {sum(line['version'] for line in lines)} events\n"


def test_the_default_database_is_made_by_migrate_alone(cli: Cli, tmp_path: Path) -> None:
    assert cli("job", "list").code == 6
    assert list(tmp_path.iterdir()) == []
    assert cli("db", "migrate").code == 0
    assert (tmp_path / ".holdfast" / "holdfast.db").is_file()
    assert cli("job", "list").code == 0


@pytest.mark.parametrize("words", READS, ids=" ".join)
def test_a_database_that_is_not_there_is_not_made(cli: Cli, tmp_path: Path, words: list[str]) -> None:
    answer = cli(*words, "--db", "sqlite:///sub/none.db")
    assert (answer.code, answer.out) == (6, "")
    assert answer.err == "holdfast: there is no database at sub/none.db; to make one, run `holdfast db migrate`\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [words for words in READS if words != ["db", "check"]], ids=" ".join)
def test_a_database_without_tables(cli: Cli, postgres_dsn: str, words: list[str]) -> None:
    answer = cli(*words, "--db", postgres_dsn)
    assert (answer.code, answer.out) == (6, "")
    assert "has no Holdfast tables yet; run `holdfast db migrate`" in answer.err


def test_check_lists_what_is_pending_and_changes_nothing(cli: Cli, postgres_dsn: str) -> None:
    for _ in range(2):
        answer = cli("db", "check", "--db", postgres_dsn)
        assert answer.code == 1
        first, *_, last = names = known(postgres_dsn)
        assert f"pending: {first} to {last} ({len(names)}); run `holdfast db migrate`" in answer.out


def test_some_of_the_migrations_are_not_enough(cli: Cli, postgres_dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert cli("db", "migrate", "--db", postgres_dsn).code == 0
    monkeypatch.setattr(migrate, "migrations", lambda dialect: [*migrations(dialect), ("9999_next", "SELECT 1")])
    answer = cli("job", "list", "--db", postgres_dsn)
    assert (answer.code, answer.out) == (6, "")
    assert "lacks migrations: 9999_next; run `holdfast db migrate`" in answer.err


def test_a_schema_from_before_the_first_release_is_refused(cli: Cli, sqlite_db: str) -> None:
    with sqlite3.connect(sqlite_db.removeprefix("sqlite:///")) as connection:
        connection.execute("UPDATE holdfast_migration SET name = '0001_start' WHERE name = '0001_schema'")
    connection.close()
    for words in (["job", "list"], ["db", "migrate"], ["audit"]):
        answer = cli(*words, "--db", sqlite_db)
        assert (answer.code, answer.out) == (1, "")
        assert "older than any release" in answer.err
        assert "or start with a new database" in answer.err


def test_a_foreign_sqlite_file_has_no_tables_of_ours(cli: Cli) -> None:
    with sqlite3.connect("other.db") as connection:
        connection.execute("CREATE TABLE mine (n)")
    connection.close()
    assert "has no Holdfast tables yet" in cli("job", "list", "--db", "other.db").err
    assert cli("db", "check", "--db", "other.db").code == 1


def test_a_schema_of_a_later_version_is_refused(cli: Cli, sqlite_db: str) -> None:
    with sqlite3.connect(sqlite_db.removeprefix("sqlite:///")) as connection:
        connection.execute("INSERT INTO holdfast_migration VALUES ('9999_future')")
    connection.close()
    for words in (["job", "list"], ["db", "migrate"], ["audit"]):
        answer = cli(*words, "--db", sqlite_db)
        assert (answer.code, answer.out) == (1, "")
        assert "9999_future; use the version of Holdfast that made them" in answer.err
    answer = cli("db", "check", "--db", sqlite_db)
    assert answer.code == 1
    assert "9999_future" in answer.out


def test_a_truncated_database_is_refused(cli: Cli, sqlite_db: str) -> None:
    file = Path(sqlite_db.removeprefix("sqlite:///"))
    file.write_bytes(file.read_bytes()[: 3 * file.stat().st_size // 4])
    answer = cli("db", "check", "--db", sqlite_db)
    assert answer.code == 1
    assert "the file is damaged" in answer.out
    assert "restore a backup" in answer.out


def test_a_flipped_header_is_refused(cli: Cli, sqlite_db: str) -> None:
    file = Path(sqlite_db.removeprefix("sqlite:///"))
    data = bytearray(file.read_bytes())
    data[3] ^= 0xFF
    file.write_bytes(data)
    for words in (["db", "check"], ["job", "list"], ["audit"]):
        answer = cli(*words, "--db", sqlite_db)
        assert (answer.code, answer.out) == (1, "")
        assert "is not a SQLite database, or its header is damaged" in answer.err


def test_flipped_pages_are_refused(cli: Cli, sqlite_db: str) -> None:
    file = Path(sqlite_db.removeprefix("sqlite:///"))
    data = bytearray(file.read_bytes())
    for start in range(4096, len(data), 4096):
        data[start : start + 8] = bytes(byte ^ 0xFF for byte in data[start : start + 8])
    file.write_bytes(data)
    answer = cli("db", "check", "--db", sqlite_db)
    assert answer.code == 1
    assert "damaged" in answer.out
    answer = cli("job", "list", "--db", sqlite_db)
    assert (answer.code, answer.out) == (1, "")
    assert "is damaged" in answer.err


def test_what_is_no_database_at_all(cli: Cli, tmp_path: Path) -> None:
    Path("empty.db").touch()
    Path("folder.db").mkdir()
    for name in ("empty.db", "folder.db"):
        answer = cli("job", "list", "--db", name)
        assert (answer.code, answer.out) == (6, "")
        assert name in answer.err
    assert cli("db", "migrate", "--db", "folder.db").code == 6
    assert cli("db", "migrate", "--db", "empty.db").code == 0


@pytest.mark.parametrize("words", [*READS, ["db", "migrate"]], ids=" ".join)
def test_a_server_that_does_not_answer(cli: Cli, words: list[str]) -> None:
    answer = cli(*words, "--db", "postgresql://ann:s3cret@127.0.0.1:1/jobs")
    assert (answer.code, answer.out) == (6, "")
    assert "postgresql://ann:***@127.0.0.1:1/jobs cannot be reached" in answer.err
    assert "s3cret" not in answer.err
    assert answer.err.count("\n") == 1


def test_a_database_that_the_server_does_not_have(cli: Cli, postgres_dsn: str) -> None:
    for words in (["job", "list"], ["db", "migrate"], ["db", "check"]):
        answer = cli(*words, "--db", postgres_dsn + "_gone")
        assert (answer.code, answer.out) == (6, "")
        assert "does not exist" in answer.err
