"""A job submitted inside the caller's own transaction exists exactly when what it belongs to does."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import asyncpg
import psycopg
import pytest
import sqlalchemy
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from holdfast import Engine, HoldfastError
from holdfast.audit.auditor import audit
from holdfast.runtime.task import Task
from holdfast.testing import drain
from tests.engines import engine_on


@pytest.fixture
def app(postgres_url: str) -> Iterator[Engine]:
    with engine_on(postgres_url) as engine:
        engine.list_jobs()  # makes the tables
        yield engine


@pytest.fixture
def mail(app: Engine) -> Task[[str], str]:
    @app.task
    def mail(to: str) -> str:
        return f"mailed {to}"

    return mail


def mails(app: Engine) -> list[str]:
    return sorted(str(job.payload) for job in app.list_jobs(task="mail"))


ONLY = ['{"to":"kept"}']


def check(app: Engine, dsn: str) -> None:
    """What was committed is there, can be run, and stands every test of the audit; the rest never was."""
    assert mails(app) == ONLY
    assert drain(app).runs == 1
    report = asyncio.run(audit(dsn, processes=False))
    assert (report.jobs, report.total_violations) == (1, 0)


def test_psycopg(app: Engine, mail: Task[[str], str], postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        job = mail.options(connection=connection).submit("kept")
        assert mails(app) == []
        connection.commit()
        mail.options(connection=connection).submit("lost")
        app.submit("mail", {"to": "lost"}, connection=connection)
        connection.rollback()
    check(app, postgres_url)
    assert job.result(timeout=1) == "mailed kept"


async def test_psycopg_async(app: Engine, mail: Task[[str], str], postgres_url: str) -> None:
    async with await psycopg.AsyncConnection.connect(postgres_url) as connection:
        await mail.options(connection=connection).asubmit("kept")
        await connection.commit()
        await mail.options(connection=connection).asubmit("lost")
        await connection.rollback()
        with pytest.raises(HoldfastError, match="connection is psycopg"):
            mail.options(connection=connection).submit("wrong door")
    await asyncio.to_thread(check, app, postgres_url)


async def test_asyncpg(app: Engine, mail: Task[[str], str], postgres_url: str) -> None:
    connection = await asyncpg.connect(postgres_url)
    async with connection.transaction():
        await mail.options(connection=connection).asubmit("kept")
        assert mails(app) == []
    lost = connection.transaction()
    await lost.start()
    await mail.options(connection=connection).asubmit_many([("lost",), ("too",)])
    await lost.rollback()
    await connection.close()
    await asyncio.to_thread(check, app, postgres_url)


def test_sqlalchemy_session_and_connection(app: Engine, mail: Task[[str], str], postgres_url: str) -> None:
    database = sqlalchemy.create_engine(postgres_url.replace("postgresql://", "postgresql+psycopg://"))
    with Session(database) as session, session.begin():
        session.execute(sqlalchemy.text("CREATE TABLE users (name text)"))
        mail.options(connection=session).submit("kept")
    with database.connect() as connection:
        mail.options(connection=connection).submit("lost")
        connection.rollback()
        mail.options(connection=connection).submit_many([("lost",), ("too",)])
        connection.rollback()
    database.dispose()
    check(app, postgres_url)


def test_a_sqlalchemy_connection_that_had_nothing_else_to_do(
    app: Engine, mail: Task[[str], str], postgres_url: str
) -> None:
    database = sqlalchemy.create_engine(postgres_url.replace("postgresql://", "postgresql+psycopg://"))
    with database.connect() as connection:
        mail.options(connection=connection).submit("kept")
        connection.commit()
    database.dispose()
    check(app, postgres_url)


async def test_sqlalchemy_async(app: Engine, mail: Task[[str], str], postgres_url: str) -> None:
    database = create_async_engine(postgres_url.replace("postgresql://", "postgresql+asyncpg://"))
    async with AsyncSession(database) as session:
        await mail.options(connection=await session.connection()).asubmit("kept")
        await session.commit()
        await mail.options(connection=session).asubmit("lost")
        await session.rollback()
        with pytest.raises(HoldfastError, match="asubmit"):
            mail.options(connection=session).submit("wrong door")
    await database.dispose()
    await asyncio.to_thread(check, app, postgres_url)


def test_what_cannot_be_done_there_is_said(app: Engine, mail: Task[[str], str], postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        with pytest.raises(HoldfastError, match="key"):
            mail.options(connection=connection, key="k").submit("x")
        with pytest.raises(TypeError, match="to"):
            mail.options(connection=connection).submit()  # type: ignore[call-arg] # that it is wrong is the point
        for wrong in ("postgresql://somewhere", object()):
            with pytest.raises(HoldfastError, match="connection is"):
                mail.options(connection=wrong).submit("x")
    assert mails(app) == []


def test_many_in_one_transaction(app: Engine, mail: Task[[str], str], postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        mail.options(connection=connection).submit_many([("a",), ("b",)])
        assert mails(app) == []
        connection.rollback()
        assert mail.options(connection=connection).submit_many([]) == []
        handles = mail.options(connection=connection).submit_many([("c",), {"to": "d"}])
        connection.commit()
    assert mails(app) == ['{"to":"c"}', '{"to":"d"}']
    drain(app)
    assert [handle.result(timeout=1) for handle in handles] == ["mailed c", "mailed d"]
