"""A task, a worker, a result."""

import tempfile

from holdfast import Engine

app = Engine(f"sqlite:///{tempfile.mkdtemp()}/hello.db")


@app.task
def greet(name: str) -> str:
    return f"hello, {name}"


if __name__ == "__main__":
    with app.worker():
        print(greet.submit("world").result(timeout=30))
    app.close()
