"""The launcher itself: a server that starts, answers, comes back empty, and leaves nothing behind."""

import pytest
import redis
import redis.asyncio

from tests.services.process import ServiceFailed, is_alive
from tests.services.valkey import Server, running_valkey


async def test_it_answers(valkey_url: str) -> None:
    async with redis.asyncio.Redis.from_url(valkey_url) as client:
        assert await client.dbsize() == 0
        await client.set("key", "value")
        assert await client.get("key") == b"value"


def test_each_test_finds_it_empty(valkey: Server, valkey_url: str) -> None:
    with redis.Redis.from_url(valkey_url) as client:
        assert client.dbsize() == 0
    assert is_alive(valkey.pid)


def test_killed_it_comes_back_empty_and_stopped_it_leaves_nothing() -> None:
    with running_valkey() as server:
        first = server.pid
        with redis.Redis.from_url(server.url) as client:
            client.set("key", "value")
        server.kill()
        server.restart()
        with redis.Redis.from_url(server.url) as client:
            assert client.get("key") is None
        second, directory = server.pid, server.directory
    assert not is_alive(first)
    assert not is_alive(second)
    assert not directory.exists()


def test_a_server_that_cannot_start_says_why() -> None:
    with (
        pytest.raises(ServiceFailed, match="no-such-setting"),
        running_valkey(settings={"no-such-setting": "1"}),
    ):
        pass
