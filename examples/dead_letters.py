"""A job that only a person can help: put aside with its reason, edited, replayed."""

import tempfile

from holdfast import Engine

app = Engine(f"sqlite:///{tempfile.mkdtemp()}/dead.db")


@app.task(retries=2, backoff="50ms", on_exhausted="dead_letter")
def invoice(number: int, amount: str) -> str:
    return f"invoice {number}: {float(amount):.2f} EUR"


if __name__ == "__main__":
    with app.worker():
        poison = invoice.submit(7, "12,50")
        print(poison.wait(timeout=30))
        [letter] = app.dead_letters()
        print(letter.reason_code, "after", letter.attempts, "attempts")
        print(app.replay(poison.id, edits={"amount": "12.50"}).result(timeout=30))
    app.close()
