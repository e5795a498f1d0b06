"""`python -m examples.news_brief`: one run with a worker in this process, and its brief."""

from __future__ import annotations

import argparse
import os
import sys
import tempfile


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m examples.news_brief", description=__doc__)
    parser.add_argument("--feed", action="append", help="a file of feeds/, without .xml; may be given several times")
    parser.add_argument("--evaluate", action="store_true")
    parser.add_argument("--optimize", action="store_true", help="needs --evaluate, as it has nothing to go by without")
    parser.add_argument("--db", help="a database to keep the run in; a temporary one if not said")
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["NEWS_BRIEF_DB"] = asked.db or f"sqlite:///{folder}/news.db"
        try:
            return run(asked)
        except ModuleNotFoundError as missing:
            print(f"{missing}: pip install {missing.name}, or run `make brief`, which brings it", file=sys.stderr)
            return 1


def run(asked: argparse.Namespace) -> int:
    from examples.news_brief.pipeline import app, pipe

    chosen = {"feeds": asked.feed} if asked.feed else {}
    with app.worker():
        job = pipe.submit(enable_evaluation=asked.evaluate, enable_auto_optimize=asked.optimize, **chosen)
        state = job.wait(60)
    for stage in job.stages():
        errors = "".join(f"\n    {error['item'] or stage['name']}: {error['message']}" for error in stage["errors"])
        print(f"{stage['name']:<13}{stage['status']:<10} {stage['reason'] or ''}{errors}".rstrip(), file=sys.stderr)
    print(f"{job.id} {state}", file=sys.stderr)
    if not state.is_successful_terminal():
        app.close()
        return 1
    made = job.result()
    print(made.get("summary", "nothing to tell"))
    for topic, lines in made.get("brief", {}).items():
        print(f"\n{topic.upper()}", *(f"- {line}" for line in lines), sep="\n")
    for name in ("evaluation", "optimization"):
        if name in made:
            print(f"\n{name}: " + ", ".join(f"{key} {value:g}" for key, value in made[name].items()))
    app.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
