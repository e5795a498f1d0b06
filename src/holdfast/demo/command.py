"""`holdfast demo`: see it work."""

from __future__ import annotations

from holdfast.cli.invocation import Call


def demo(*, call: Call) -> int:
    """See it work, in half a minute: jobs of all five lifecycles, a worker killed, a dead letter, a cancel, the audit.

    It needs nothing, and leaves nothing behind: the database is a fresh one, unless --db names another.
    """
    from holdfast.demo.story import Story

    return Story(call.out, call.db).run()
