"""A job that fails half-way and goes on where it was: steps that are done are not done again."""

import tempfile

from holdfast import Context, Engine, TransientError

app = Engine(f"sqlite:///{tempfile.mkdtemp()}/steps.db")


def charge(order: int) -> str:
    print(f"charging order {order}")
    return f"receipt-{order}"


@app.task(retries=3, backoff="100ms")
def checkout(ctx: Context, order: int) -> str:
    receipt = ctx.step("charge", charge, order)
    if ctx.tries == 1:
        raise TransientError("the warehouse does not answer")
    return f"{receipt}, shipped on attempt {ctx.attempt}"


if __name__ == "__main__":
    with app.worker():
        print(checkout.submit(7).result(timeout=30))
    app.close()
