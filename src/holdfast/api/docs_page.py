"""The page at /api/docs: the OpenAPI document for people. Plain HTML without a script, so that it needs no network."""

from __future__ import annotations

import base64
import hashlib
import json
from html import escape
from typing import Any

from starlette.requests import Request
from starlette.responses import HTMLResponse

from holdfast.api.access.keys import Scope
from holdfast.api.access.scopes import needs
from holdfast.api.openapi import METHODS
from holdfast.api.problems.kinds import KINDS

STYLE = """
:root { color-scheme: light dark; font: 15px/1.5 system-ui, sans-serif }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
code, pre { font: 13px/1.4 ui-monospace, monospace }
pre { overflow-x: auto; padding: .6rem; background: color-mix(in srgb, currentColor 6%, transparent) }
summary { cursor: pointer; padding: .25rem 0 }
summary b { display: inline-block; min-width: 4.5rem }
table { border-collapse: collapse } td, th { text-align: left; padding: .2rem .8rem .2rem 0; vertical-align: top }
small { opacity: .7 }
"""
POLICY = (
    "default-src 'none'; frame-ancestors 'none'; base-uri 'none'; "
    f"style-src 'sha256-{base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()}'"
)


@needs(Scope.READ)
async def docs(request: Request) -> HTMLResponse:
    page = render(request.app.openapi())
    return HTMLResponse(page, headers={"Content-Security-Policy": POLICY})


def render(document: dict[str, Any]) -> str:
    """The whole page. Everything of the document is text: names and examples may hold anything."""
    info = document["info"]
    title = escape(f"{info['title']} {info['version']}")
    by_tag: dict[str, list[str]] = {}
    for path, operations in document.get("paths", {}).items():
        for method in METHODS:
            if method in operations:
                operation = operations[method]
                by_tag.setdefault((operation.get("tags") or ["other"])[0], []).append(
                    _operation(method, path, operation)
                )
    sections = "".join(f"<h2>{escape(tag)}</h2>{''.join(shown)}" for tag, shown in by_tag.items())
    schemas = "".join(
        f"<details><summary><code>{escape(name)}</code></summary>{_json(schema)}</details>"
        for name, schema in sorted(document.get("components", {}).get("schemas", {}).items())
    )
    return (
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        f"<meta name='viewport' content='width=device-width'><title>{title}</title><style>{STYLE}</style></head><body>"
        f"<h1>{title}</h1><p>{escape(info.get('description', ''))}</p>"
        "<p>As a document for machines: <a href='openapi.json'>openapi.json</a>. "
        "From a shell: <code>holdfast api GET /jobs</code>.</p>"
        f"{sections}<h2>Problems</h2>{_problems()}<h2>Schemas</h2>{schemas}</body></html>"
    )


def _operation(method: str, path: str, operation: dict[str, Any]) -> str:
    scope = operation.get("x-scope")
    needs = f" <small>{escape(scope)}</small>" if scope else ""
    parts = [f"<p>{escape(operation.get('description', ''))}</p>"]
    if parameters := operation.get("parameters"):
        rows = "".join(_parameter(one) for one in parameters)
        parts.append(f"<table><tr><th>parameter</th><th>in</th><th></th></tr>{rows}</table>")
    if body := operation.get("requestBody"):
        parts.append(f"<p>Body:</p>{_json(body.get('content', {}))}")
    parts.append(f"<p>Answers:</p>{_json(operation.get('responses', {}))}")
    head = f"<b>{method.upper()}</b> <code>{escape(path)}</code> {escape(operation.get('summary', ''))}{needs}"
    return f"<details><summary>{head}</summary>{''.join(parts)}</details>"


def _parameter(one: dict[str, Any]) -> str:
    words = one.get("description") or json.dumps(one.get("schema", {}))
    name = f"<code>{escape(one['name'])}</code>{' (needed)' if one.get('required') else ''}"
    return f"<tr><td>{name}</td><td>{escape(one['in'])}</td><td>{escape(words)}</td></tr>"


def _problems() -> str:
    rows = "".join(
        f"<tr><td><code>{code}</code></td><td>{kind.status}</td>"
        f"<td>{escape(kind.title)}. {escape(kind.meaning)}</td></tr>"
        for code, kind in KINDS.items()
    )
    return f"<table><tr><th>code</th><th>status</th><th></th></tr>{rows}</table>"


def _json(value: object) -> str:
    return f"<pre>{escape(json.dumps(value, indent=2, ensure_ascii=False))}</pre>"
