"""Regular expressions from strangers, matched in time that grows with the text and no faster.

Python's `re` goes back and tries again: `(a+)+$` keeps it busy for years on one line of text, with the interpreter's
lock in its hand. Here all ways through a pattern are followed at once. `re` still judges the single characters, so
classes and escapes mean what they always mean.
"""

from __future__ import annotations

import re
from typing import ClassVar, NamedTuple, assert_never

from holdfast.kernel.graph.pattern_syntax import LONGEST_CHARS, Border, Either, One, PatternError, Reader, Repeat, Tree

WORD = re.compile(r"\w")


class _State(NamedTuple):
    """Passes one character, or goes on without one where it stands at the right edge."""

    one: re.Pattern[str] | None
    edge: str | None
    ways: list[int]


class Pattern:
    """A pattern that was checked; PatternError says what of it cannot be used."""

    LONGEST_CHARS: ClassVar[int] = LONGEST_CHARS
    LONGEST_TEXT_CHARS: ClassVar[int] = 10_000
    MOST_STATES: ClassVar[int] = 500

    def __init__(self, text: str) -> None:
        reader = Reader(text)
        tree = reader.read()
        self.text = text
        self._lines = bool(reader.flags & re.MULTILINE)
        self._states: list[_State] = []
        self._end = self._new()
        self._start = self._build(tree, self._end)

    def found_in(self, text: str) -> bool:
        """Whether it is somewhere in the text, as `re.search` looks; never in one beyond LONGEST_TEXT_CHARS."""
        if len(text) > self.LONGEST_TEXT_CHARS:
            return False
        states: set[int] = set()
        for at in range(len(text) + 1):
            states.add(self._start)
            self._settle(states, text, at)
            if self._end in states:
                return True
            if at < len(text):
                states = self._step(states, text[at])
        return False

    def _step(self, states: set[int], char: str) -> set[int]:
        after: set[int] = set()
        for number in states:
            state = self._states[number]
            if state.one is not None and state.one.match(char):
                after.update(state.ways)
        return after

    def _settle(self, states: set[int], text: str, at: int) -> None:
        """Add all states that can be reached without a character."""
        left = list(states)
        while left:
            state = self._states[left.pop()]
            if state.one is None and (state.edge is None or self._stands(state.edge, text, at)):
                new = [way for way in state.ways if way not in states]
                states.update(new)
                left += new

    def _stands(self, edge: str, text: str, at: int) -> bool:
        end = len(text)
        match edge:
            case "very start":
                return at == 0
            case "start":
                return at == 0 or (self._lines and text[at - 1] == "\n")
            case "very end":
                return at == end
            case "end":
                return at == end or (text[at] == "\n" and (self._lines or at == end - 1))
            case _:
                before = at > 0 and WORD.match(text[at - 1]) is not None
                return before != (at < end and WORD.match(text[at]) is not None)

    def _new(self, *ways: int, one: re.Pattern[str] | None = None, edge: str | None = None) -> int:
        if len(self._states) >= self.MOST_STATES:
            raise PatternError("is too large once its repeats are written out", remedy="use smaller counts in {…}")
        self._states.append(_State(one, edge, list(ways)))
        return len(self._states) - 1

    def _build(self, tree: Tree, then: int) -> int:
        """The state where a part begins that goes on at `then`."""
        match tree:
            case One(test):
                return self._new(then, one=test)
            case Border(kind):
                return self._new(then, edge=kind)
            case Either(rows):
                starts = []
                for row in rows:
                    at = then
                    for part in reversed(row):
                        at = self._build(part, at)
                    starts.append(at)
                return self._new(*starts)
            case Repeat(part, least, most):
                if most is None:
                    at = self._new(then)
                    self._states[at].ways.append(self._build(part, at))
                else:
                    at = then
                    for _ in range(most - least):
                        at = self._new(self._build(part, at), then)
                for _ in range(least):
                    at = self._build(part, at)
                return at
            case _:
                assert_never(tree)
