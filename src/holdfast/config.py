"""One validated Settings: the file `holdfast.toml`, overruled by the environment, overruled by arguments."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from holdfast.kernel.errors import HoldfastError

FILE = "holdfast.toml"
DEFAULT_DB = "sqlite:///.holdfast/holdfast.db"
DEFAULT_PORT = 54322
SQLITE = "sqlite:///"
POSTGRES = ("postgresql://", "postgres://")
REMOTE = ("http://", "https://")
"""How the address of an API begins: an engine takes it in place of a database."""


class ConfigError(HoldfastError):
    """A setting is wrong."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be configured. Raises ConfigError that names the field."""

    db: str = DEFAULT_DB
    """`sqlite:///relative.db`, `sqlite:////absolute.db`, a path, or `postgresql://…`; for an engine also `http://…`."""
    app: str | None = None
    """`module:name` of the engine that declares the tasks, for commands that need one."""
    host: str = "127.0.0.1"
    """Where `holdfast serve` and `holdfast dev` listen."""
    port: int = DEFAULT_PORT
    url: str = f"http://127.0.0.1:{DEFAULT_PORT}"
    """The server that `holdfast api` calls."""
    key: str | None = field(default=None, repr=False)
    """The key that it shows there."""

    def __post_init__(self) -> None:
        check_database_url(self.db)
        check_place(self.app)
        check_server(self.host, self.port)
        check_url(self.url)


def load(
    arguments: Mapping[str, object] | None = None,
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
) -> Settings:
    """File < environment (`HOLDFAST_DB`, `HOLDFAST_APP`, …) < arguments. None among the arguments means not given."""
    import os

    environment = os.environ if environment is None else environment
    names = [field.name for field in fields(Settings)]
    values: dict[str, Any] = _from_file((folder or Path()) / FILE, names)
    # An empty variable is how shells and containers say "not set".
    values |= {name: text for name in names if (text := environment.get(f"HOLDFAST_{name.upper()}"))}
    # Kubernetes sets HOLDFAST_PORT=tcp://… by itself where a service is called holdfast.
    if str(values.get("port", "")).startswith("tcp://"):
        del values["port"]
    values |= {name: value for name, value in (arguments or {}).items() if value is not None}
    if isinstance(port := values.get("port"), str) and port.isdecimal() and port.isascii():
        values["port"] = int(port)
    return Settings(**values)


def _from_file(file: Path, names: list[str]) -> dict[str, Any]:
    import tomllib

    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} cannot be read: {error}", remedy="make it a readable UTF-8 file") from error
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file} is not TOML: {error}", remedy='write lines such as db = "…"') from error
    for name in values:
        if name not in names:
            raise ConfigError(f"{file} has an unknown key {name!r}", field=name, remedy=f"known: {', '.join(names)}")
    return values


def check_database_url(url: object) -> None:
    """Raise ConfigError when this is not the address of a database that a store exists for."""
    forms = "use sqlite:///relative.db, sqlite:////absolute.db, a path, or postgresql://user@host/name"
    if not isinstance(url, str):
        raise ConfigError(f"db must be text, not {url!r}", field="db", remedy=forms)
    if url.startswith(REMOTE):
        return check_url(url)
    path = url.removeprefix(SQLITE)
    if not url.startswith(POSTGRES) and (not path or "://" in path or path.startswith("sqlite:")):
        raise ConfigError(f"db {without_password(url)!r} is not a database", field="db", remedy=forms)


def check_place(place: object) -> None:
    """Raise ConfigError when this does not say where an engine is."""
    if place is None:
        return
    module, _, name = place.partition(":") if isinstance(place, str) else ("", "", "")
    if not (module and name):
        raise ConfigError(f"app {place!r} is not module:name", field="app", remedy="say shop.jobs:app")


def check_server(host: object, port: object) -> None:
    """Raise ConfigError when nothing can listen there."""
    if not isinstance(host, str) or not host:
        raise ConfigError(f"host {host!r} is no address", field="host", remedy="say 127.0.0.1")
    if not isinstance(port, int) or isinstance(port, bool) or not 0 <= port <= 65_535:
        raise ConfigError(f"port {port!r} is no port", field="port", remedy="say 0 to 65535; 0 takes any that is free")


def check_url(url: object) -> None:
    """Raise ConfigError when this is not the address of a server."""
    from urllib.parse import urlsplit

    try:
        parts = urlsplit(url) if isinstance(url, str) else None
        good = parts is not None and parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        good = False
    if not good:
        raise ConfigError(f"url {url!r} is no address of a server", field="url", remedy="say http://127.0.0.1:54322")


def sqlite_path(url: str) -> Path | None:
    """The file behind the address of an SQLite database; None for PostgreSQL."""
    if url.startswith(REMOTE):
        raise ConfigError(f"{without_password(url)} is an API", field="db", remedy="this needs the database itself")
    return None if url.startswith(POSTGRES) else Path(url.removeprefix(SQLITE))


def without_password(url: str) -> str:
    """The URL as it may be shown in messages and logs."""
    from urllib.parse import parse_qsl, urlencode, urlsplit, urlunsplit

    if url.startswith(SQLITE) or "://" not in url:
        return url
    try:
        parts = urlsplit(url)
        user, at, host = parts.netloc.rpartition("@")
    except ValueError:
        return url.partition("://")[0] + "://…"
    query = [(key, "***" if "password" in key.lower() else value) for key, value in parse_qsl(parts.query)]
    hidden = user.partition(":")[0] + (":***" if ":" in user else "")
    return urlunsplit(parts._replace(netloc=hidden + at + host, query=urlencode(query, safe="*/")))
