"""Threads that submit and wait: on SQLite they hand their jobs to the writer themselves, without a loop between."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from holdfast import Engine
from holdfast.kernel.errors import DuplicateKeyError, PayloadError, StoreError
from tests.working import working

THREADS, EACH = 8, 50


def test_all_that_threads_submit_at_once_is_there_and_runs(app: Engine) -> None:
    @app.task
    def double(n: int) -> int:
        return 2 * n

    first = double.submit(0)
    with working(app), ThreadPoolExecutor(THREADS) as pool:
        jobs = list(pool.map(double.submit, range(THREADS * EACH)))
        assert len({job.id for job in jobs}) == THREADS * EACH
        assert [job.result(timeout=30) for job in jobs] == [2 * n for n in range(THREADS * EACH)]
        assert first.result(timeout=30) == 0


def test_what_is_refused_is_raised_in_the_thread_that_asked(app: Engine) -> None:
    @app.task
    def double(n: int) -> int:
        return 2 * n

    double.submit(1)
    with pytest.raises(PayloadError):
        double.options(key="a\x00b").submit(1)
    held = double.options(key="k").submit(1)
    with pytest.raises(DuplicateKeyError, match=held.id):
        double.options(key="k", duplicates="reject").submit(1)
    assert double.options(key="k").submit(1).id == held.id


def test_an_engine_that_was_closed_opens_anew(app: Engine) -> None:
    @app.task
    def double(n: int) -> int:
        return 2 * n

    double.submit(1)
    store = app._inside.store
    assert store is not None
    app.close()
    if store.wait is not None:
        with pytest.raises(StoreError, match="closed"):
            store.wait(store.jobs.submit([double.spec((1,), {})]))
    assert double.submit(2).state() == "queued"
