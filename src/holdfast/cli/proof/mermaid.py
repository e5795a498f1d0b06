"""A lifecycle as a Mermaid state diagram."""

from __future__ import annotations

import re
from collections import Counter

from holdfast.kernel.lifecycle import Lifecycle
from holdfast.kernel.state import State


def diagram(lifecycle: Lifecycle) -> str:
    """A `stateDiagram-v2`. Nodes are canonical states: two of them may carry the same label."""
    shared = Counter(map(str, lifecycle.states))
    lines = ["stateDiagram-v2"]
    lines += [f'    state "{_name(state, shared)}" as {state.canonical.value}' for state in lifecycle.states]
    lines += [f"    [*] --> {state.value}: submit" for state in lifecycle.initial]
    edges: dict[tuple[str, str, bool], list[str]] = {}
    for row in lifecycle.transitions:
        edges.setdefault((row.source.value, row.target.value, row.opens_attempt), []).append(str(row.command))
    for (source, target, opens), commands in edges.items():
        words = ", ".join(map(_plain, commands)) + (" (next attempt)" if opens else "")
        lines.append(f"    {source} --> {target}: {words}")
    left = {row.source for row in lifecycle.transitions if not row.opens_attempt}
    ends = [state.canonical for state in lifecycle.terminal_states() if state.canonical not in left]
    lines += [f"    {state.value} --> [*]" for state in ends]
    return "\n".join(lines) + "\n"


def _name(state: State, shared: Counter[str]) -> str:
    label = _plain(str(state))
    return f"{label} ({state.canonical.value})" if shared[str(state)] > 1 else label


def _plain(words: str) -> str:
    """Without what ends a name or a line in Mermaid."""
    return " ".join(re.sub(r'[":;#%]', " ", words).split())
