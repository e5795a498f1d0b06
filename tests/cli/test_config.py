"""Settings: file, then environment, then arguments; wrong ones name their field."""

from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from holdfast.config import DEFAULT_DB, FILE, ConfigError, Settings, load, sqlite_path, without_password
from tests.cli.conftest import Cli

IN_FILE, IN_ENVIRONMENT, IN_ARGUMENTS = (f"sqlite:///{name}.db" for name in ("file", "environment", "arguments"))


def test_file_then_environment_then_arguments(tmp_path: Path) -> None:
    def db(arguments: str | None = None, environment: str | None = None) -> str:
        found = {} if environment is None else {"HOLDFAST_DB": environment}
        return load({"db": arguments}, environment=found, folder=tmp_path).db

    assert db() == DEFAULT_DB == "sqlite:///.holdfast/holdfast.db"
    (tmp_path / FILE).write_text(f'db = "{IN_FILE}"\n')
    assert db() == IN_FILE
    assert db(environment="") == IN_FILE
    assert db(environment=IN_ENVIRONMENT) == IN_ENVIRONMENT
    assert db(arguments=IN_ARGUMENTS) == db(arguments=IN_ARGUMENTS, environment=IN_ENVIRONMENT) == IN_ARGUMENTS


def test_settings_do_not_change() -> None:
    settings = Settings()
    with pytest.raises(FrozenInstanceError):
        settings.db = "other.db"  # type: ignore[misc] # that is the point


@pytest.mark.parametrize("url", ["", "sqlite:///", "sqlite://a.db", "sqlite:a.db", "mysql://host/db", "ftp://x"])
def test_an_address_that_no_store_has(url: str) -> None:
    with pytest.raises(ConfigError, match="postgresql://") as caught:
        Settings(url)
    assert caught.value.field == "db"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("db = 7", "db must be text, not 7"),
        ("databse = 'x'", "unknown key 'databse'; known: db, app"),
        ("db = ", "is not TOML"),
    ],
)
def test_a_wrong_file(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / FILE).write_text(text)
    with pytest.raises(ConfigError, match=told):
        load(environment={}, folder=tmp_path)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="cannot be read"):
        load(environment={}, folder=tmp_path)


def test_where_an_sqlite_database_lies() -> None:
    assert sqlite_path("sqlite:///a/b.db") == sqlite_path("a/b.db") == Path("a/b.db")
    assert sqlite_path("sqlite:////a/b.db") == Path("/a/b.db")
    assert sqlite_path("postgresql://host/db") is sqlite_path("postgres://host/db") is None


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://ann:s3cret@host:5/db", "postgresql://ann:***@host:5/db"),
        ("postgresql://ann:a@b@host/db", "postgresql://ann:***@host/db"),
        ("postgresql://host/db?user=ann&password=s3cret", "postgresql://host/db?user=ann&password=***"),
        ("postgresql://ann@host/db", "postgresql://ann@host/db"),
        ("postgresql://[oops:s3cret@host/db", "postgresql://…"),
        ("sqlite:////a/b@c.db", "sqlite:////a/b@c.db"),
    ],
)
def test_a_password_is_never_shown(url: str, shown: str) -> None:
    assert without_password(url) == shown


def test_the_command_line_reads_file_and_environment(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    Path(FILE).write_text('db = "sqlite:///from_file.db"')
    assert "from_file.db" in cli("job", "list").err
    monkeypatch.setenv("HOLDFAST_DB", "sqlite:///from_environment.db")
    assert "from_environment.db" in cli("job", "list").err
    assert "from_argument.db" in cli("job", "list", "--db", "sqlite:///from_argument.db").err
    assert "before.db" in cli("--db", "before.db", "job", "list").err
    assert cli("job", "list", "--db", "mysql://host/db").code == 2
    Path(FILE).write_text("colour = 'red'")
    answer = cli("job", "list")
    assert (answer.code, answer.out) == (2, "")
    assert "unknown key 'colour'" in answer.err
    # What needs no settings does not fail for them.
    assert cli("version").code == 0
