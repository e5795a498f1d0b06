"""What statements are written with where the stores differ in words: `{…}` has one meaning for each store.

A cast, `:limit::bigint`, is PostgreSQL's alone: its plans need to know what a parameter is.

    {job}  {job j}               the columns of a row, in the order of its fields; of the table that goes by that name
    {values purge}               parameters of the same names
    {now}                        the time that decides: the database's own on PostgreSQL, the process's on SQLite
    {in :ids::uuid[]}            one of a list that is handed over as one parameter
    {in SELECT …}                one of what a query finds, planned before what asks
    {not in :names::text[]}      none of a list
    {each i :ids::uuid[]}        a list as rows: `i.value`
    {leases l}                   leases as rows: `l.job_id`, `l.attempt`
    {lock}  {lock skip locked}   rows are locked as they are read; SQLite's writer is alone
    {share}                      rows stay as they are until the commit
    {hint i}                     the index that SQLite is to use: PostgreSQL is told by its settings
    {greatest}  {least}          of several values, as functions
    {without output result}      the JSON text `result` without its field `output`

And the schema:

    {uuid}  {bigint}  {bytea} …  a type, by PostgreSQL's name
    {strict}                     SQLite checks types as well
    {distinct}                   an index of keys that are all different: nobody need look for equal ones
    {sqlite …}  {postgres …}     what only one of them has
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from holdfast.kernel.event import Event
from holdfast.kernel.job import Job
from holdfast.store.dialect import NodeColumns
from holdfast.store.port import Dead, FlowRow, NodeRow, PurgeRow, SealRow, SignalRow

COLUMNS: Mapping[str, tuple[str, ...]] = {
    "job": Job._fields,
    "event": Event._fields[:-2],
    "signal": SignalRow._fields,
    "dead": Dead._fields,
    "seal": SealRow._fields,
    "purge": PurgeRow._fields,
    "flow": FlowRow._fields,
    "node": NodeColumns._fields,
    "standing": NodeRow._fields[:9],
    "progress": NodeRow._fields[9:],
    "gate": ("name", "running", "interval_us", "burst", "next_us"),
    "schedule": (
        *("name", "task", "args", "cron", "timezone", "missed", "paused", "last_tick_ms", "next_tick_ms", "spec"),
    ),
    "api_key": (
        *("id", "name", "hash", "scope", "created_at_ms", "expires_at_ms", "revoked_at_ms", "last_used_at_ms"),
    ),
    "new_job": (
        *("id", "lifecycle", "task", "queue", "priority", "state", "attempt", "version", "tries", "max_tries"),
        *("losses", "ready", "due_at_ms", "lease_ms", "created_at_ms", "changed_at_ms", "expires_at_ms"),
        *("keep_until_ms", "key_scope", "key", "correlation_id", "trace_id", "parent_id", "tags", "options"),
        *("payload", "turn", "gate"),
    ),
    "new_event": (
        *("job_id", "seq", "type", "from_state", "to_state", "at_ms", "actor", "attempt", "reason", "cause"),
        *("payload", "digest"),
    ),
}
"""What is read of each table, and written to some, said once: rows become tuples with these fields."""

SQLITE = {
    "now": ":now_ms",
    "in (:.*)": r"IN (SELECT value FROM json_each(\1))",
    "in (SELECT .*)": r"IN (\1)",
    "not in (:.*)": r"NOT IN (SELECT value FROM json_each(\1))",
    "each (.*) (:.*)": r"json_each(\2) AS \1",
    "leases (.*)": r"(SELECT value ->> 0 AS job_id, value ->> 1 AS attempt FROM json_each(:leases)) AS \1",
    "lock|lock skip locked|share": "",
    "hint (.*)": r"INDEXED BY \1",
    "greatest": "max",
    "least": "min",
    "without (.*) (.*)": r"json_remove(\2, '$.\1')",
    "uuid": "text",
    "bytea": "blob",
    "bigint|smallint|boolean": "integer",
    "strict": "STRICT",
    "sqlite (.*)": r"\1",
    "postgres(.*)|distinct": "",
}
POSTGRES = {
    "now": "coalesce(:now_ms::bigint, (extract(epoch FROM clock_timestamp()) * 1000)::bigint)",
    "in (:.*)": r"= ANY (\1)",
    "in (SELECT .*)": r"= ANY (ARRAY(\1))",
    "not in (:.*)": r"<> ALL (\1)",
    "each (.*) (:.*)": r"unnest(\2) AS \1 (value)",
    "leases (.*)": r"unnest(:job_id::uuid[], :attempt::integer[]) AS \1 (job_id, attempt)",
    "lock": "FOR UPDATE",
    "lock skip locked": "FOR UPDATE SKIP LOCKED",
    "share": "FOR SHARE",
    "hint (.*)": "",
    "greatest": "greatest",
    "least": "least",
    "without (.*) (.*)": r"(\2::jsonb - '\1')::text",
    "(uuid|bytea|bigint|smallint|boolean)": r"\1",
    "distinct": "WITH (deduplicate_items = off)",
    "postgres(?: |(?=\n))(.*)": r"\1",
    "strict|sqlite (.*)": "",
}
MACRO = re.compile(r"( ?)\{([a-z][^{}]*)\}")
CAST = re.compile(r"::[a-z]+(\[\])?")


def expand(dialect: str, text: str, more: Mapping[str, str] = {}) -> str:
    """A text in the words of one store, the inner macros first; `more` has those of this text alone."""
    rules = {**(SQLITE if dialect == "sqlite" else POSTGRES), **more}
    while MACRO.search(text):
        text = MACRO.sub(lambda macro: macro[1] + words if (words := _meaning(macro[2], rules)) else "", text)
    return CAST.sub("", text) if dialect == "sqlite" else text


def _meaning(macro: str, rules: Mapping[str, str]) -> str:
    table, _, alias = macro.partition(" ")
    if table in COLUMNS:
        return ", ".join(f"{alias}.{column}" if alias else column for column in COLUMNS[table])
    if table == "values":
        return ", ".join(f":{column}" for column in COLUMNS[alias])
    for rule, meaning in rules.items():
        if found := re.fullmatch(rule, macro, re.DOTALL):
            return found.expand(meaning)
    raise LookupError(f"no macro {{{macro}}}")
