"""The error tree: readable messages, typed fields, and a safe way through a process pool."""

from __future__ import annotations

import copy
import pickle

import pytest

from holdfast.kernel import errors

SAMPLES = [
    errors.HoldfastError("it broke", field="lease_ms", remedy="use 30000"),
    errors.PayloadError(field="payload.items[3].name", problem="holds a NUL character", remedy="remove it"),
    errors.LifecycleError("no way out", lifecycle="crawl", rule="no-dead-end", path=("queued", "stuck")),
    errors.TransientError("busy", code="rate_limited", context={"host": "a.example", "tries": [1, 2]}),
]


def test_the_docstring_is_the_message_when_none_is_given() -> None:
    assert str(errors.HoldfastError()) == "Something in Holdfast went wrong"
    assert str(errors.TransientError()) == "The task failed for a reason that may pass"


def test_a_payload_error_says_where_what_and_how_to_mend_it() -> None:
    error = SAMPLES[1]
    assert isinstance(error, errors.PayloadError)
    assert str(error) == "payload.items[3].name holds a NUL character; remove it"
    assert (error.field, error.problem, error.remedy) == (
        "payload.items[3].name",
        "holds a NUL character",
        "remove it",
    )


def test_a_lifecycle_error_shows_its_counterexample() -> None:
    error = SAMPLES[2]
    assert isinstance(error, errors.LifecycleError)
    assert str(error) == "lifecycle 'crawl' breaks no-dead-end: no way out (counterexample: queued → stuck)"
    assert (error.lifecycle, error.rule, error.path) == ("crawl", "no-dead-end", ("queued", "stuck"))


@pytest.mark.rule("D26")
def test_a_task_error_carries_code_message_and_context() -> None:
    error = errors.PermanentError("no such page", code="invalid_url", context={"url": "x:"})
    assert (error.code, error.message, error.context) == ("invalid_url", "no such page", {"url": "x:"})
    assert errors.PermanentError("no such page").code == "permanent_error"


@pytest.mark.rule("D26")
def test_a_subclass_may_fix_its_code() -> None:
    class OutOfStock(errors.PermanentError):
        code = "out_of_stock"

    assert OutOfStock("none left").code == "out_of_stock"
    assert OutOfStock().error_class is errors.ErrorClass.PERMANENT


@pytest.mark.parametrize("error", SAMPLES, ids=lambda error: type(error).__name__)
def test_errors_survive_a_process_pool(error: errors.HoldfastError) -> None:
    pickled = pickle.dumps(error)
    for twin in (pickle.loads(pickled), copy.copy(error)):  # noqa: S301 – made the line before
        assert type(twin) is type(error)
        assert str(twin) == str(error)
        assert vars(twin) == vars(error)
