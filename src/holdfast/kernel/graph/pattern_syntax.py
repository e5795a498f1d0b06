"""The part of Python's regular expressions that can be matched without going back, read into a tree."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import NoReturn, TypeAlias

from holdfast.kernel.errors import HoldfastError

LONGEST_CHARS = 500
DEEPEST = 40
MOST_REPEATS = 1_000

COUNT = re.compile(r"\{(\d*)(,?)(\d*)\}")
SINGLE = re.compile(r"\\[dDsSwW]|\\x[0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\[^A-Za-z0-9]|\\[nrtfva]|[^\\]", re.DOTALL)
CLASS = re.compile(r"\[\^?\]?(?:\\.|[^\]\\])*\]", re.DOTALL)
UNCLEAR_CLASS = re.compile(r"\[\^?\[|--|&&|~~|\|\|")
FLAGS = re.compile(r"\(\?([ims]+)\)")
GROUP = re.compile(r"\((?:\?:|\?P<\w+>|(?!\?))")
EDGES = {"^": "start", "\\A": "very start", "$": "end", "\\Z": "very end", "\\b": "word"}


class PatternError(HoldfastError):
    """The pattern cannot be used."""


@dataclass(frozen=True, slots=True)
class One:
    """One character that `test` accepts."""

    test: re.Pattern[str]


@dataclass(frozen=True, slots=True)
class Border:
    """No character, but a place: the start, the end, the border of a word."""

    kind: str


@dataclass(frozen=True, slots=True)
class Repeat:
    part: Tree
    least: int
    most: int | None


@dataclass(frozen=True, slots=True)
class Either:
    """One of several rows of parts."""

    rows: tuple[tuple[Tree, ...], ...]


Tree: TypeAlias = One | Border | Repeat | Either


class Reader:
    """Reads one pattern. `flags` are those of its start, such as (?i)."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.flags = 0

    def read(self) -> Tree:
        if len(self.text) > LONGEST_CHARS:
            _refuse(f"has {len(self.text)} characters", f"a pattern has at most {LONGEST_CHARS}")
        if flags := FLAGS.match(self.text):
            self.at = flags.end()
            for letter in flags[1]:
                self.flags |= {"i": re.IGNORECASE, "m": re.MULTILINE, "s": re.DOTALL}[letter]
        tree = self._either(0)
        if self.at < len(self.text):
            _refuse(f"closes at {self.at} a group that it did not open", "write \\) for the character")
        try:
            re.compile(self.text)
        except (re.error, OverflowError) as error:
            _refuse(f"is no regular expression ({error})", "mend it")
        return tree

    def _either(self, depth: int) -> Either:
        if depth > DEEPEST:
            _refuse(f"has groups more than {DEEPEST} deep", "flatten them")
        rows = [self._row(depth)]
        while self.text.startswith("|", self.at):
            self.at += 1
            rows.append(self._row(depth))
        return Either(tuple(rows))

    def _row(self, depth: int) -> tuple[Tree, ...]:
        parts: list[Tree] = []
        while self.at < len(self.text) and self.text[self.at] not in "|)":
            parts.append(self._repeated(self._part(depth)))
        return tuple(parts)

    def _part(self, depth: int) -> Tree:
        text, at = self.text, self.at
        for spelling, kind in EDGES.items():
            if text.startswith(spelling, at):
                self.at += len(spelling)
                return Border(kind)
        if text[at] == "(":
            opening = GROUP.match(text, at)
            if opening is None:
                _refuse(f"uses {text[at : at + 4]!r}", "groups are (…), (?:…) or (?P<name>…); nothing looks around")
            self.at = opening.end()
            group = self._either(depth + 1)
            if not text.startswith(")", self.at):
                _refuse(f"does not close the group of {at}", "add a )")
            self.at += 1
            return group
        if text[at] in "*+?" or self._count() is not None:
            _refuse(f"has nothing to repeat at {at}", "put a backslash before the character")
        return self._one()

    def _one(self) -> One:
        found = (CLASS if self.text[self.at] == "[" else SINGLE).match(self.text, self.at)
        if found is None:
            _refuse(
                f"uses {self.text[self.at : self.at + 3]!r}", "references to groups and octal numbers are not known"
            )
        piece = found[0]
        if piece[0] == "[" and UNCLEAR_CLASS.search(piece):
            _refuse(f"has the unclear class {piece}", "put backslashes before [ - & ~ | inside it")
        self.at = found.end()
        source = piece if len(piece) > 1 or piece == "." else re.escape(piece)
        try:
            return One(re.compile(source, self.flags))
        except re.error as error:
            _refuse(f"has the class {piece}, which is none ({error})", "mend it")

    def _count(self) -> tuple[int, int | None, int] | None:
        """Least, most and where it ends, if a count such as {2,5} stands here."""
        found = COUNT.match(self.text, self.at)
        if found is None or found[0] == "{}":
            return None
        least = int(found[1] or 0)
        most = (int(found[3]) if found[3] else None) if found[2] else least
        return least, most, found.end()

    def _repeated(self, part: Tree) -> Tree:
        sign = self.text[self.at : self.at + 1]
        counted = self._count()
        if counted is None and sign not in {"*", "+", "?"}:
            return part
        signs: dict[str, tuple[int, int | None]] = {"*": (0, None), "+": (1, None), "?": (0, 1)}
        if counted is None:
            (least, most), self.at = signs[sign], self.at + 1
        else:
            least, most, self.at = counted
        if isinstance(part, Border):
            _refuse(f"repeats an edge before {self.at}", "an edge has no length: leave the repeat out")
        if max(least, most or 0) > MOST_REPEATS or (most is not None and most < least):
            _refuse(f"repeats {least} to {most} times", f"at most {MOST_REPEATS}, the smaller number first")
        if self.text.startswith("?", self.at):
            self.at += 1  # whether it takes much or little does not change whether it is found
        elif self.text.startswith(("*", "+"), self.at) or self._count() is not None:
            _refuse(f"repeats a repeat at {self.at}", "put the inner one in a group")
        return Repeat(part, least, most)


def _refuse(problem: str, remedy: str) -> NoReturn:
    raise PatternError(problem, remedy=remedy)
