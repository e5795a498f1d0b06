"""Keys on both stores: made once, kept hashed, dead the moment they are revoked or expire."""

import asyncio
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holdfast.api.access.keys import NOTED_EVERY_S, SHAPE, Caller, Keyring, Scope, make_key
from holdfast.api.settings import ApiSettings
from holdfast.kernel.errors import HoldfastError, PayloadError
from holdfast.store.port import KeyRow
from holdfast.testing import MovableClock
from tests.api.shell import OPEN_TO_ALL, Shell, let_in, shell_on
from tests.engines import STORES, address


@pytest.fixture
def clock() -> MovableClock:
    return MovableClock()


@pytest.fixture(params=STORES)
def shell(request: pytest.FixtureRequest, tmp_path: Path, clock: MovableClock) -> Iterator[Shell]:
    with shell_on(address(request, tmp_path), ApiSettings(host=OPEN_TO_ALL), clock=clock) as made:
        made.app.add_api_route("/api/secret", lambda: "shown", methods=["GET"])
        let_in(made.app)
        yield made


def rows_of(shell: Shell) -> list[KeyRow]:
    async def read() -> list[KeyRow]:
        return await (await shell.engine._inside.opened()).admin.keys.list()

    return shell.engine._inside.portal.call(read())


def revoke(shell: Shell, key_id: str) -> KeyRow | None:
    async def change() -> KeyRow | None:
        return await (await shell.engine._inside.opened()).admin.keys.revoke(key_id)

    return shell.engine._inside.portal.call(change())


def test_only_a_digest_is_kept(shell: Shell) -> None:
    made = shell.key("admin")
    shape = SHAPE.fullmatch(made.token)
    assert shape is not None
    key_id, secret = shape.groups()
    [row] = rows_of(shell)
    assert (row.id, row.scope, row.name) == (key_id, "admin", "admin")
    assert row.hash == hashlib.sha256(secret.encode()).digest()
    assert secret not in repr(row)
    assert len({shell.key().token for _ in range(20)}) == 20


def test_a_key_opens_until_it_is_revoked(shell: Shell, clock: MovableClock) -> None:
    made = shell.key("admin")
    assert shell.ask("GET", "/api/secret", key=made.token).text == '"shown"'
    revoked = revoke(shell, made.row.id)
    assert revoked is not None
    assert revoked.revoked_at_ms == clock.now_ms
    assert shell.ask("GET", "/api/secret", key=made.token).status_code == 401
    clock.advance("1h")
    assert revoke(shell, made.row.id) == revoked
    assert revoke(shell, "000000000000") is None


def test_a_key_opens_until_it_expires(shell: Shell, clock: MovableClock) -> None:
    made = shell.key("admin", lives_ms=60_000)
    clock.advance("59.999s")
    assert shell.ask("GET", "/api/secret", key=made.token).status_code == 200
    clock.advance("1ms")
    assert shell.ask("GET", "/api/secret", key=made.token).status_code == 401


@pytest.mark.parametrize("spoil", [lambda t: t[:-1] + ("A" if t[-1] != "A" else "B"), lambda t: t[:-1], str.upper])
def test_nearly_the_key_is_no_key(shell: Shell, spoil: Any) -> None:
    token = shell.key("admin").token
    assert shell.ask("GET", "/api/secret", key=spoil(token)).status_code == 401
    other = shell.key("admin").token
    mixed = f"{token[:16]}{other[16:]}"
    assert shell.ask("GET", "/api/secret", key=mixed).status_code == 401


@pytest.mark.parametrize("scope", list(Scope))
def test_who_the_holder_is(shell: Shell, scope: Scope) -> None:
    made = shell.key(scope, name="nightly import")

    async def holder() -> Caller | None:
        return await Keyring().holder(await shell.engine._inside.opened(), made.token)

    assert shell.engine._inside.portal.call(holder()) == Caller("nightly import", scope.implied, made.row.id)


def test_scopes_grow() -> None:
    assert [len(scope.implied) for scope in (Scope.READ, Scope.WRITE, Scope.ADMIN)] == [1, 2, 3]
    assert all(scope in scope.implied for scope in Scope)


def test_when_a_key_was_last_used(shell: Shell, clock: MovableClock) -> None:
    made = shell.key("read")
    now_s = [0.0]
    keyring = Keyring(lambda: now_s[0])

    async def use() -> None:
        await keyring.holder(await shell.engine._inside.opened(), made.token)

    for wait_s in (0.0, NOTED_EVERY_S - 1, 1.0):
        clock.advance("1m")
        now_s[0] += wait_s
        shell.engine._inside.portal.call(use())
    # Noted at the first use and at the third: a read costs a write once a minute at most.
    [row] = rows_of(shell)
    assert row.last_used_at_ms == clock.now_ms
    clock.advance("1m")
    shell.engine._inside.portal.call(use())
    assert rows_of(shell) == [row]


def test_whether_there_is_any(shell: Shell, clock: MovableClock) -> None:
    def any_live() -> bool:
        async def ask() -> bool:
            return await (await shell.engine._inside.opened()).admin.keys.any_live()

        return shell.engine._inside.portal.call(ask())

    assert not any_live()
    made = shell.key("read", lives_ms=1_000)
    assert any_live()
    clock.advance("1s")
    assert not any_live()
    made = shell.key("read")
    assert any_live()
    revoke(shell, made.row.id)
    assert not any_live()


@pytest.mark.parametrize(("name", "lives_ms"), [("", None), (" ", None), ("x" * 101, None), ("x", 0), ("a\x00b", None)])
def test_keys_that_are_not_made(shell: Shell, name: str, lives_ms: int | None) -> None:
    async def make() -> None:
        await make_key(await shell.engine._inside.opened(), name, Scope.READ, lives_ms=lives_ms)

    with pytest.raises((HoldfastError, PayloadError)) as refused:
        shell.engine._inside.portal.call(make())
    assert refused.value.field in ("name", "expires")
    assert rows_of(shell) == []


def test_64_at_once_with_one_key(shell: Shell) -> None:
    token = shell.key("admin").token

    async def one() -> Caller | None:
        return await Keyring().holder(await shell.engine._inside.opened(), token)

    async def many() -> list[Caller | None]:
        return await asyncio.gather(*(one() for _ in range(64)))

    assert all(shell.engine._inside.portal.call(many()))
