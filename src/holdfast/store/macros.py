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
    {turns l}                    turns as rows: `l.job_id`, `l.turn`
    {lock}  {lock skip locked}   rows are locked as they are read; SQLite's writer is alone
    {share}                      rows stay as they are until the commit
    {fence}                      the job `:job_id`, while `:owner` has it in `:attempt`; it stays so until the commit
    {leases_of}                  the table that has leases
    {nth list i}                 of a list in a row, counted from 0
    {index list x}               where in such a list it is
    {size list}                  how many it has
    {some x}                     a list of one
    {quoted text}                a text as JSON
    {hexed bytes}                bytes as a list of a row has them
    {digits bytes}               bytes as text
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
from holdfast.kernel.log import LogRow
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
        *("id", "lifecycle", "task", "queue", "priority", "state", "turn", "gate", "max_tries", "lease_ms"),
        *(
            "due_at_ms",
            "created_at_ms",
            "expires_at_ms",
            "keep_until_ms",
            "key_scope",
            "key",
            "correlation_id",
            "trace_id",
        ),
        *("parent_id", "tags", "options", "payload", "event_type", "actor", "reason", "cause", "event_payload"),
        "digest",
    ),
    "row": LogRow._fields,
}
"""What is read of each table, and written to some, said once: rows become tuples with these fields."""

SQLITE = {
    "now": ":now_ms",
    "in (:.*)": r"IN (SELECT value FROM json_each(\1))",
    "in (SELECT .*)": r"IN (\1)",
    "not in (:.*)": r"NOT IN (SELECT value FROM json_each(\1))",
    "each (.*) (:.*)": r"json_each(\2) AS \1",
    "leases (.*)": r"(SELECT value ->> 0 AS job_id, value ->> 1 AS attempt FROM json_each(:leases)) AS \1",
    "turns (.*)": r"(SELECT value ->> 0 AS job_id, value ->> 1 AS turn FROM json_each(:turns)) AS \1",
    "lock|lock skip locked|share": "",
    "hint (.*)": r"INDEXED BY \1",
    "greatest": "max",
    "least": "min",
    "without (.*) (.*)": r"json_remove(\2, '$.\1')",
    "uuid": "text",
    "bytea": "blob",
    "bigint|smallint|boolean": "integer",
    "fence": (
        "(SELECT id, attempt FROM holdfast_held WHERE id = :job_id AND attempt = :attempt AND owner = :owner"
        " AND until_ms > :now_ms) AS fence"
    ),
    "leases_of": "holdfast_held",
    r"nth (\S+) (.*)": r"(\1 ->> (\2))",
    r"index (\S+) (\S+)": r"(SELECT each.key FROM json_each(\1) AS each WHERE each.value = \2)",
    "size (.*)": r"json_array_length(\1)",
    "quoted (.*)": r"json_quote(\1)",
    "hexed (.*)|digits (.*)": r"CASE WHEN \1\2 IS NOT NULL THEN lower(hex(\1\2)) END",
    "some (.*)": "CAST(json_array(\\1) AS text)",
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
    "fence": (
        "(SELECT place.id, place.attempt FROM holdfast_jobs AS place JOIN holdfast_lease AS lease"
        " ON lease.token = place.token WHERE place.id = :job_id AND place.attempt = :attempt::integer"
        " AND lease.owner = :owner AND lease.until_ms > {now} AND get_bit(lease.gone, place.at) = 0"
        " FOR SHARE OF lease) AS fence"
    ),
    "leases_of": "holdfast_lease",
    r"nth (\S+) (.*)": r"\1[\2 + 1]",
    r"index (\S+) (\S+)": r"(array_position(\1, \2) - 1)",
    "size (.*)": r"cardinality(\1)",
    "quoted (.*)": r"to_json(\1)::text",
    "hexed (.*)": r"\1",
    "digits (.*)": r"encode(\1, 'hex')",
    "some (.*)": r"ARRAY[\1]",
    "turns (.*)": r"unnest(:job_id::uuid[], :turn::integer[]) AS \1 (job_id, turn)",
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
