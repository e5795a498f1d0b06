"""What works do when an executor is under test, and Python functions that do it.

At the top level of a module of its own: the process of an executor imports it.
"""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Callable
from enum import StrEnum
from typing import Any

from holdfast.kernel.durable import DURABLE
from holdfast.kernel.errors import PermanentError, TransientError
from holdfast.tasks.answers import Partial, Skip
from holdfast.tasks.context import Context
from holdfast.tasks.registry import TaskDef, define
from holdfast.tasks.work import Python

LONG_S = 20.0
LOOK_S = 0.01


class Behaviour(StrEnum):
    RETURN = "returns its argument n"
    PART = "ends with [1], as a part, for the reason 'half'"
    SKIP = "skips, for the reason 'nothing to do'"
    FAIL = "fails for good with the code 'permanent_error' and the message 'no good'"
    FAIL_NOW = "fails for now with the code 'transient_error' and the message 'not yet'"
    HEED = "says that it is 1 of 2, and goes on until it is told to stop"
    DEAF = "says that it is 1 of 2, and goes on whatever it is told, for LONG_S"
    SPEAK = "says that it is 1 of 2, logs 'on my way' and makes {'pages': 3}"
    KEEP = "does the step 'one', keeps the checkpoint [2], and returns the one that was kept before"
    CRASH = "takes its place along"


def task_of(function: Callable[..., Any], executor: str) -> TaskDef:
    """A task of a Python function."""
    return define(function.__name__, Python(function, function.__name__, executor), DURABLE, {})


def returns(n: int) -> int:
    return n


async def returns_async(n: int) -> int:
    return n


def part(n: int) -> Partial[list[int]]:
    return Partial([1], "half")


async def part_async(n: int) -> Partial[list[int]]:
    return part(n)


def skips(n: int) -> None:
    raise Skip("nothing to do")


async def skips_async(n: int) -> None:
    skips(n)


def fails(n: int) -> None:
    raise PermanentError("no good")


async def fails_async(n: int) -> None:
    fails(n)


def fails_now(n: int) -> None:
    raise TransientError("not yet")


async def fails_now_async(n: int) -> None:
    fails_now(n)


def heeds(ctx: Context, n: int) -> None:
    while True:
        ctx.progress(1, 2)
        threading.Event().wait(LOOK_S)


async def heeds_async(ctx: Context, n: int) -> None:
    while True:
        ctx.progress(1, 2)
        await asyncio.sleep(LOOK_S)


def deaf(ctx: Context, n: int) -> None:
    ctx.progress(1, 2)
    threading.Event().wait(LONG_S)


async def deaf_async(ctx: Context, n: int) -> None:
    ctx.progress(1, 2)
    await asyncio.sleep(LONG_S)


def speaks(ctx: Context, n: int) -> None:
    ctx.progress(1, 2)
    ctx.log.info("on my way")
    ctx.output(pages=3)


async def speaks_async(ctx: Context, n: int) -> None:
    speaks(ctx, n)


def keeps(ctx: Context, n: int) -> Any:
    before = ctx.last_checkpoint
    ctx.step("one", returns, 1)
    ctx.checkpoint([2])
    return before


async def keeps_async(ctx: Context, n: int) -> Any:
    before = ctx.last_checkpoint
    await ctx.astep("one", returns_async, 1)
    await ctx.acheckpoint([2])
    return before


def crashes(n: int) -> None:
    os._exit(3)


FUNCTIONS: dict[Behaviour, tuple[Callable[..., Any], Callable[..., Any] | None]] = {
    Behaviour.RETURN: (returns, returns_async),
    Behaviour.PART: (part, part_async),
    Behaviour.SKIP: (skips, skips_async),
    Behaviour.FAIL: (fails, fails_async),
    Behaviour.FAIL_NOW: (fails_now, fails_now_async),
    Behaviour.HEED: (heeds, heeds_async),
    Behaviour.DEAF: (deaf, deaf_async),
    Behaviour.SPEAK: (speaks, speaks_async),
    Behaviour.KEEP: (keeps, keeps_async),
    Behaviour.CRASH: (crashes, None),
}
"""For each a function, and a coroutine where there can be one."""
