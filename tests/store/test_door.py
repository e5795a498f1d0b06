"""What cannot be stored is refused at the door: the same error on both stores, and nothing is kept."""

from __future__ import annotations

from typing import Any

import pytest

from holdfast.kernel.errors import PayloadError
from holdfast.kernel.payload.encoding import decode, encode
from holdfast.store.port import Store
from tests.store.scenes import everything, fetch, spec


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


BAD_VALUES = {
    "nul": ({"a": "x\x00y"}, "payload.a", "holds a NUL character"),
    "nul-key": ({"a\x00": 1}, 'payload["a\\u0000"]', "has in its key a NUL character"),
    "surrogate": (["\ud800"], "payload[0]", "holds a lone surrogate"),
    "nan": ({"a": [float("nan")]}, "payload.a[0]", "is nan, which JSON does not have"),
    "infinity": (float("-inf"), "payload", "is -inf, which JSON does not have"),
    "depth-10000": (nested(10_000), "payload" + "[0]" * 64, "is nested deeper than 64 levels"),
    "2-mib": ("x" * 2**21, "payload", "is 2,097,154 bytes of JSON, over the limit of 1,048,576"),
    "bytes": ({"a": b"x"}, "payload.a", "is of type bytes, which JSON does not have"),
}
TEXTS = ["task", "queue", "key", "key_scope", "correlation_id", "trace_id", "actor", "reason", "cause"]
JSON_TEXTS = ["tags", "options", "payload"]


@pytest.mark.parametrize("case", BAD_VALUES)
async def test_a_bad_payload_never_reaches_the_store(store: Store, case: str) -> None:
    value, field, problem = BAD_VALUES[case]
    with pytest.raises(PayloadError) as refused:
        await store.jobs.submit([spec(payload=encode({"fine": 1})), spec(payload=encode(value))])
    assert (refused.value.field, refused.value.problem) == (field, problem)
    assert refused.value.remedy
    assert await everything(store) == ([], [])


@pytest.mark.parametrize(
    ("text", "problem"), [("a\x00b", "contains a NUL character"), ("a\udfffb", "contains a lone surrogate")]
)
@pytest.mark.parametrize("field", TEXTS + JSON_TEXTS)
async def test_bad_text_in_any_field_is_refused(store: Store, field: str, text: str, problem: str) -> None:
    bad = spec(**({"key": "k", field: text}))
    with pytest.raises(PayloadError) as refused:
        await store.jobs.submit([spec(), bad])
    assert (refused.value.field, refused.value.problem) == (field, problem)
    assert str(refused.value) == f"{field} {problem}; {refused.value.remedy}"
    assert await everything(store) == ([], [])


@pytest.mark.parametrize("field", ["priority", "max_tries", "lease_ms"])
@pytest.mark.parametrize("number", [2**31, -(2**31) - 1, 2**63, 1.5, "high", True])
async def test_a_number_that_is_none_of_32_bits_is_refused(store: Store, field: str, number: object) -> None:
    with pytest.raises(PayloadError) as refused:
        await store.jobs.submit([spec(), spec("durable", **{field: number})])
    assert (refused.value.field, refused.value.problem) == (field, "is out of range")
    assert await everything(store) == ([], [])


@pytest.mark.parametrize("field", TEXTS)
async def test_what_is_no_text_is_refused(store: Store, field: str) -> None:
    with pytest.raises(PayloadError) as refused:
        await store.jobs.submit([spec(), spec(key="k")._replace(**{field: 3})])  # type: ignore[arg-type]
    assert (refused.value.field, refused.value.problem) == (field, "is no text: 3")
    assert await everything(store) == ([], [])


@pytest.mark.parametrize("field", ["id", "parent_id"])
@pytest.mark.parametrize(
    "text", ["", "nonsense", "01900000-0000-7000-8000-FFFFFFFFFFFF", "0190000-00000-7000-8000-ffffffffffff"]
)
async def test_an_id_of_the_wrong_form_is_refused(store: Store, field: str, text: str) -> None:
    wrong: dict[str, Any] = {field: text}
    with pytest.raises(PayloadError) as refused:
        await store.jobs.submit([spec(), spec()._replace(**wrong)])
    assert (refused.value.field, refused.value.problem) == (field, "is no job id")
    assert await everything(store) == ([], [])


@pytest.mark.parametrize("number", [2**31 - 1, -(2**31), 0])
async def test_the_outermost_priorities_are_fine(store: Store, number: int) -> None:
    await store.jobs.submit([one := spec(priority=number)])
    assert (await fetch(store, one.id)).priority == number
    assert [job.id for job in await store.jobs.claim(["default"], 1, "w")] == [one.id]


VALUES: dict[str, Any] = {
    "escapes": {"text": 'quote " slash \\ line \n tab \t \\u0000 is spelled'},
    "unicode": ["ü", "日本語", "🙂", "\u2028", "\ufffd", "\uffff"],
    "numbers": [0, -1, 2**64, 1e308, 5e-324, -0.0],
    "deepest": nested(63),
    "null": None,
    "largest": "x" * (2**20 - 2),
}


@pytest.mark.parametrize("case", VALUES)
async def test_what_passes_the_door_comes_back_as_it_was(store: Store, case: str) -> None:
    text = encode(VALUES[case])
    await store.jobs.submit([one := spec(payload=text)])
    job = await fetch(store, one.id)
    assert job.payload == text
    assert decode(job.payload) == VALUES[case]


@pytest.mark.parametrize("text", ["", " ", "ü", "日本語", "🙂", "'; --", "%s", ":name", "$1", "{}", "a" * 5_000])
async def test_odd_names_are_names(store: Store, text: str) -> None:
    fields = dict.fromkeys(TEXTS, text)
    await store.jobs.submit([one := spec(**fields)])
    job = await fetch(store, one.id)
    assert (job.task, job.queue, job.key, job.correlation_id) == (text, text, text, text)
    assert [taken.id for taken in await store.jobs.claim([text], 1, text)] == [one.id]
    for event in await store.reads.events(one.id):
        assert event.actor == text
    assert await store.reads.key_holder(text, text) == one.id
