"""How the API is served: where it listens, who may come in, and how much of it."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, fields

from holdfast.config import ConfigError

MIB = 1024 * 1024
LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiSettings:
    """Raises ConfigError that names the field."""

    host: str = "127.0.0.1"
    port: int = 54322
    hosts: tuple[str, ...] = ()
    """Further names that this server goes by, such as its name behind a proxy. They make keys necessary."""
    body_limit: int = MIB
    body_timeout_s: float = 30.0
    depth_limit: int = 64
    rate: float = 500.0
    """Requests a second for each key, and for each address that should send one and does not; 0 is without limit."""
    burst: int = 1_000
    max_requests: int = 256
    """Requests at the same time; streams have places of their own."""
    max_streams: int = 256
    sync_waiters: int = 64
    """Calls that submit a job and wait for it, at the same time."""
    sync_backlog: int = 1_000
    """Due jobs in a queue from which on nobody may wait for one more."""
    wait_s: float = 300.0
    """How long a call that waits for its job does so unless it says how long."""
    longest_wait_s: float = 3_600.0
    """Who asks to wait for longer is answered after this time."""
    grace_s: float = 10.0
    """How long requests may take to end once the server was told to stop."""

    def __post_init__(self) -> None:
        if not 0 <= self.port <= 65_535:
            raise ConfigError(f"port is {self.port}", field="port", remedy="use 0 to 65535; 0 takes any that is free")
        for name in (
            each.name for each in fields(self) if each.name not in ("host", "port", "hosts", "rate", "grace_s")
        ):
            if getattr(self, name) <= 0:
                raise ConfigError(f"{name} is {getattr(self, name)}", field=name, remedy="use more than 0")
        if self.rate < 0 or self.grace_s < 0:
            raise ConfigError("rate or grace_s is below 0", field="rate", remedy="use 0 or more")

    @property
    def require_key(self) -> bool:
        """On loopback no key is needed, unless the server also goes by a name from elsewhere."""
        return not is_loopback(self.host) or not all(is_loopback(name) for name in self.hosts)

    @property
    def known_hosts(self) -> frozenset[str] | None:
        """The names that a Host header may have; None for any: where keys are needed, a name opens nothing."""
        if not is_loopback(self.host):
            return None
        return frozenset(name.lower() for name in (*LOOPBACK_NAMES, self.host, *self.hosts))

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}"


def is_loopback(host: str) -> bool:
    """Whether an address or a name means this machine alone: 127.0.0.0/8, ::1, localhost."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
