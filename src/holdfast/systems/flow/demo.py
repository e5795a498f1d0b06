"""Flows in the demo: letters are answered where there are any."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from holdfast.runtime.handle import JobHandle
from holdfast.runtime.inside import Inside
from holdfast.systems.flow.declare.flow import declare_flow
from holdfast.systems.flow.handle import FlowHandle


def part(app: Inside, queue: str) -> Callable[[], dict[str, JobHandle[Any]]]:
    letters = declare_flow(app, "letters")

    @letters.task(queue=queue, lease="2s")
    def collect(received: int) -> list[str]:
        time.sleep(0.2)
        return [("praise", "complaint")[n % 2] for n in range(received)]

    @letters.task(map_over=collect, queue=queue, lease="2s")
    def answer(letter: str) -> str:
        time.sleep(0.2)
        return f"answered a {letter}"

    @letters.task(after=answer, queue=queue, lease="2s")
    def page(answer: list[str]) -> str:
        return f"a page of {len(answer)} letters"

    letters.branch(after=collect, cases=[(lambda letters: len(letters) > 0, answer)])

    def start() -> dict[str, JobHandle[Any]]:
        some, none = letters.submit(received=3), letters.submit(received=0)
        return {"letters": some, "letters: page": _node(some, "page"), "no letters: page": _node(none, "page")}

    return start


def _node(flow: FlowHandle, name: str) -> JobHandle[Any]:
    """The job that a node of a flow is."""
    [node] = [node for node in flow.nodes() if node.name == name]
    return JobHandle(flow.engine, node.job_id)
