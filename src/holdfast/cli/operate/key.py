"""`holdfast key`: who may call the HTTP API."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from cyclopts import App, Parameter
from rich.text import Text

from holdfast.api.access.keys import Scope, make_key
from holdfast.cli.invocation import Call, Output
from holdfast.cli.render import Column
from holdfast.kernel.errors import NotFoundError
from holdfast.tasks.durations import duration_ms
from holdfast.views.job import fields_of

if TYPE_CHECKING:
    from holdfast.store.port import KeyRow

app = App(name="key", help="Keys to the HTTP API.")
KeyId = Annotated[str, Parameter(name="ID", help="Its id, as `holdfast key list` shows it, or the key itself.")]


@app.command
async def create(
    name: Annotated[str, Parameter(name="NAME")],
    /,
    *,
    scope: Scope,
    expires: str | None = None,
    call: Call,
) -> None:
    """Make a key. It is shown once, on stdout: only a digest of it is kept.

    Args:
        name: What or who it is for.
        scope: read looks; write also changes jobs; admin also deletes, discards and pauses.
        expires: How long it lives, such as 30d; else until it is revoked.
    """
    lives_ms = None if expires is None else duration_ms(expires, "expires")
    async with call.store() as store:
        made = await make_key(store, name, scope, lives_ms=lives_ms)
        view = key_view(made.row, await store.now_ms())
    call.print_record({**view, "key": made.token}, Text(made.token, no_wrap=True, overflow="ignore"), made.row.id)
    if call.output is not Output.IDS:
        call.say(f"{name}: scope {scope}, id {made.row.id}; this is the only time that the key is shown")


@app.command(name="list")
async def list_(*, call: Call) -> None:
    """List keys, the newest first. Their secrets are nowhere."""
    async with call.store() as store:
        now_ms = await store.now_ms()
        views = [key_view(row, now_ms) for row in await store.admin.keys.list()]
    call.print_list(views, "id", COLUMNS, "there are no keys; `holdfast key create NAME --scope read` makes one")


@app.command
async def expire(key_id: KeyId, /, *, after: str, call: Call) -> None:
    """Let a key end after a while, such as when another has taken its place. It never lives longer for it.

    Args:
        after: How long it still opens, such as 1h.
    """
    after_ms, wanted = duration_ms(after, "after"), _id_of(key_id)
    async with call.store() as store:
        row = await store.admin.keys.expire(wanted, after_ms)
        view = key_view(_known(row, wanted), await store.now_ms())
    call.print_record(view, f"{view['name']} ({view['id']}) ends at {view['expires_at']}", view["id"])


@app.command
async def revoke(key_id: KeyId, /, *, call: Call) -> None:
    """Revoke a key: the very next request with it is refused."""
    wanted = _id_of(key_id)
    async with call.store() as store:
        row = await store.admin.keys.revoke(wanted)
        view = key_view(_known(row, wanted), await store.now_ms())
    call.print_record(view, f"{view['name']} ({view['id']}) opens nothing any more", view["id"])


def _id_of(words: str) -> str:
    """By the whole key too: it is what one has at hand when it has leaked."""
    return words.split("_")[1] if words.startswith("hf_") and words.count("_") >= 2 else words


def _known(row: KeyRow | None, wanted: str) -> KeyRow:
    if row is None:
        # Never the words themselves: they may be a key.
        raise NotFoundError("key", wanted[:12], remedy="see `holdfast key list`")
    return row


def key_view(row: KeyRow, now_ms: int) -> dict[str, Any]:
    """A key as it is shown: all but its digest."""
    state = "live" if row.is_live(now_ms) else "revoked" if row.revoked_at_ms is not None else "expired"
    times = ("created_at", "expires_at", "revoked_at", "last_used_at")
    return fields_of(row, "id", "name", "scope", "state", *times, state=state)


COLUMNS = (
    Column("id", whole=True),
    Column("name"),
    Column("scope", whole=True),
    *(Column(head, f"{head.replace(' ', '_')}_at", whole=True) for head in ("created", "expires", "last used")),
    Column("", lambda view: Text("" if view["state"] == "live" else view["state"], "dim")),
)
