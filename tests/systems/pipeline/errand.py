"""A small pipeline for the command line's tests."""

from dataclasses import dataclass

from holdfast import Engine, StageContext


@dataclass
class Errand:
    lines: int


def declare(app: Engine) -> None:
    pipe = app.pipeline("errand", Errand)

    @pipe.stage
    def fetch(config: Errand) -> list[int]:
        if not config.lines:
            raise ValueError("nothing to fetch")
        return list(range(config.lines))

    @pipe.stage
    def sort(ctx: StageContext, fetch: list[int]) -> list[int]:
        ctx.error("line 0", "too short")
        return sorted(fetch, reverse=True)


app = Engine()
declare(app)
