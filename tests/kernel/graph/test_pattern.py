"""Patterns find what `re.search` finds, in a time that no pattern can make long."""

from __future__ import annotations

import re
from time import perf_counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.kernel.graph.pattern import Pattern
from holdfast.kernel.graph.pattern_syntax import PatternError

ATOMS = st.sampled_from(
    [
        "a",
        "b",
        ".",
        "[ab]",
        "[^a]",
        r"\d",
        r"\w",
        r"\s",
        "1",
        " ",
        r"\.",
        "^",
        "$",
        r"\b",
        r"\A",
        r"\Z",
        "\n",
        "é",
        "{",
        "]",
    ]
)


def grown(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    repeat = st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{,2}", "{1,}", "*?", "{2}?"])
    group = st.builds("{}{}{}".format, st.sampled_from(["(", "(?:"]), inner, st.just(")"))
    return (
        st.builds("{}{}".format, group, repeat)
        | st.lists(inner, min_size=1, max_size=4).map("".join)
        | st.lists(inner, min_size=1, max_size=3).map("|".join)
    )


PATTERNS = st.builds(
    "{}{}".format, st.sampled_from(["", "", "(?i)", "(?s)", "(?m)", "(?ims)"]), st.recursive(ATOMS, grown, max_leaves=8)
)
TEXTS = st.text("ab1 .\nAé_{]", max_size=8)


@pytest.mark.slow
@settings(max_examples=400)
@given(PATTERNS, TEXTS)
def test_it_finds_what_re_finds(pattern: str, text: str) -> None:
    assert Pattern(pattern).found_in(text) is (re.search(pattern, text) is not None)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(a+)+$", "a" * 9_999 + "b"),
        ("(a|a)*b", "a" * 10_000),
        ("(.*)*" * 20 + "x", "a" * 10_000),
        ("(a?){100}a{100}$", "a" * 99),
        (r"^(\w+\s?)*$", "word " * 1_900 + "!"),
    ],
)
def test_no_pattern_takes_long(pattern: str, text: str) -> None:
    began = perf_counter()
    assert not Pattern(pattern).found_in(text)
    assert perf_counter() - began < 20  # seconds for a slow machine; going back would take years


def test_a_text_beyond_the_limit_matches_nothing() -> None:
    assert Pattern("a").found_in("a" * Pattern.LONGEST_TEXT_CHARS)
    assert not Pattern("a").found_in("a" * (Pattern.LONGEST_TEXT_CHARS + 1))


def test_everyday_patterns() -> None:
    assert Pattern(r"^[\w.]+@[\w.]+\.(com|org)$").found_in("bob.b@example.org")
    assert not Pattern(r"^[\w.]+@[\w.]+\.(com|org)$").found_in("bob.b@example.net")
    assert Pattern(r"(?i)^invoice[- ](?P<number>\d{4,6})\b").found_in("INVOICE-20241, second copy")
    assert Pattern(r"^$").found_in("")


@pytest.mark.parametrize(
    ("pattern", "says"),
    [
        ("(", "add a )"),
        ("a)", "did not open"),
        ("*a", "nothing to repeat"),
        ("a**", "repeats a repeat"),
        ("a*+", "repeats a repeat"),
        ("^*", "repeats an edge"),
        ("a{3,1}", "the smaller number first"),
        ("a{2000}", "at most 1000"),
        ("(a{100}){100}", "smaller counts"),
        ("((((){99}){99}){99}){99}", "smaller counts"),
        (r"(a)\1", "references to groups"),
        ("(?=a)", "nothing looks around"),
        ("(?<!a)b", "nothing looks around"),
        ("(?>a)", "nothing looks around"),
        ("(?P=x)", "nothing looks around"),
        ("[a", "uses '[a'"),
        ("[b-a]", "which is none"),
        ("[[a]", "unclear class"),
        ("[a--b]", "unclear class"),
        ("\\", "uses"),
        (r"\q", "uses"),
        ("(" * 60 + ")" * 60, "more than 40 deep"),
        ("(?P<a>x)(?P<a>y)", "is no regular expression"),
        ("a" * 501, "at most 500"),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_reason(pattern: str, says: str) -> None:
    with pytest.raises(PatternError, match=re.escape(says)):
        Pattern(pattern)
