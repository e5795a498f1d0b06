"""Every place for bytes keeps the contract of the port."""

import pytest

from holdfast.testing import files_conformance
from holdfast.testing.files_conformance import Check, Place


@pytest.mark.parametrize("check", files_conformance.CHECKS, ids=lambda check: check.__name__)
async def test_files(check: Check, place: Place) -> None:
    await check(place)


def test_every_check_of_the_suite_is_run() -> None:
    written = [
        name
        for name, value in vars(files_conformance).items()
        if getattr(value, "__annotations__", {}) == {"place": "Place", "return": "None"}
    ]
    assert [check.__name__ for check in files_conformance.CHECKS] == written
