"""NEUTRALIZE: loaded words, found by a list, are toned down or left out. A list sees words, never an argument."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path


@cache
def sober_words() -> dict[str, str]:
    lines = Path(__file__).with_name("loaded_words.txt").read_text().splitlines()
    pairs = (line.split(" = ") for line in lines if " = " in line and not line.startswith("#"))
    return {loaded.strip(): "" if sober.strip() == "-" else sober.strip() for loaded, sober in pairs}


def loaded_in(text: str) -> list[str]:
    return [word for word in re.findall(r"[a-z]+", text.lower()) if word in sober_words()]


def toned_down(text: str) -> str:
    def soberly(found: re.Match[str]) -> str:
        word = found[0]
        sober = sober_words().get(word.lower())
        if sober is None:
            return word
        return sober.capitalize() if word[0].isupper() else sober

    said = re.sub(r"[A-Za-z]+", soberly, text)
    said = re.sub(r"\s+", " ", said).strip()
    return said[:1].upper() + said[1:]
