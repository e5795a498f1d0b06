"""A client's own id for a sandboxed job."""

from __future__ import annotations

from uuid import uuid4

import pytest

from holdfast.kernel.errors import PayloadError
from holdfast.systems.sandbox.client_id import client_job_id

pytestmark = pytest.mark.rule("S07")
GOOD = "550e8400-e29b-41d4-a716-446655440000"


def test_case_makes_no_difference() -> None:
    assert client_job_id(GOOD.upper()) == client_job_id(GOOD) == GOOD
    assert client_job_id(str(uuid4()))


@pytest.mark.parametrize(
    "bad",
    [
        "",
        GOOD[:-1],
        GOOD + "0",
        "x" * 37,
        GOOD.replace("-", ""),
        "{" + GOOD[:-2] + "}",
        f" {GOOD[:-1]}",
        GOOD + "\n",
        "c232ab00-9414-11ec-b3c8-9f68deced846",
        "550e8400-e29b-41d4-c716-446655440000",
        "\uff1550e8400-e29b-41d4-a716-446655440000",
        42,
        None,
        GOOD.encode(),
    ],
)
def test_what_is_no_uuid_of_version_four_is_refused_by_name(bad: object) -> None:
    with pytest.raises(PayloadError, match="client_job_id") as caught:
        client_job_id(bad)
    assert caught.value.field == "client_job_id"
    assert GOOD in caught.value.remedy
