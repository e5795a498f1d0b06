"""From an address to a store."""

import sys
from pathlib import Path

import pytest

from holdfast.audit.auditor import audit
from holdfast.extras import MissingExtraError
from holdfast.kernel.errors import StoreError
from holdfast.store.open import open_store


@pytest.mark.parametrize("form", ["sqlite:///{relative}", "sqlite:///{absolute}", "{relative}", "{absolute}"])
async def test_a_file_is_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, form: str) -> None:
    monkeypatch.chdir(tmp_path)
    url = form.format(relative="folder/a.db", absolute=tmp_path / "folder" / "a.db")
    store = open_store(url, clock=lambda: 77)
    await store.migrate()
    assert await store.now_ms() == 77
    await store.close()
    assert (tmp_path / "folder" / "a.db").is_file()


async def test_postgres_is_opened(postgres_dsn: str) -> None:
    for url in (postgres_dsn, postgres_dsn.replace("postgresql://", "postgres://")):
        store = open_store(url, clock=lambda: 77)
        await store.migrate()
        assert await store.reads.totals() == (0, 0)
        await store.close()


@pytest.mark.parametrize("url", ["", "sqlite://", "sqlite:///", "mysql://u:secret@h/d", "sqlite:a.db", "http://x"])
def test_any_other_address_is_refused(url: str) -> None:
    with pytest.raises(StoreError, match="is no address of a store; use sqlite:///") as refused:
        open_store(url)
    assert "secret" not in str(refused.value)
    assert refused.value.field == "db"


def test_postgres_without_its_extra_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "asyncpg", None)
    monkeypatch.delitem(sys.modules, "holdfast.store.postgres.driver", raising=False)
    with pytest.raises(MissingExtraError, match=r"pip install 'holdfast\[postgres\]'"):
        open_store("postgresql://localhost/x")


async def test_an_audit_makes_no_database_and_judges_none_that_is_behind(tmp_path: Path) -> None:
    missing = tmp_path / "missing.db"
    with pytest.raises(StoreError, match="there is no database"):
        await audit(f"sqlite:///{missing}")
    assert not missing.exists()
    missing.touch()
    with pytest.raises(StoreError, match=r"lacks 0001_schema, .*; run `holdfast db migrate` first"):
        await audit(str(missing))
