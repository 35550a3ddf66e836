"""`GET /docs` shows every operation, and works under its content security policy."""

import base64
import hashlib
import re
from html import unescape

import httpx

from bathysphere.core.identity import Owner
from bathysphere.server.api_docs import content_policy, render_docs
from bathysphere.server.app import describe_app


def page() -> str:
    return render_docs(describe_app().openapi())


def test_every_operation_and_schema_is_there():
    schema, text = describe_app().openapi(), unescape(page())
    for path, operations in schema["paths"].items():
        for method in operations:
            assert f"<b>{method.upper()}</b><code>{path}</code>" in text
    for name in schema["components"]["schemas"]:
        assert f'id="{name}"' in text


def test_every_operation_has_a_summary_that_says_what_it_does():
    schema, text = describe_app().openapi(), unescape(page())
    operations = [
        operation for operations in schema["paths"].values() for operation in operations.values()
    ]
    for operation in operations:
        summary = operation["summary"]
        assert " " in summary, operation["operationId"]
        assert len(summary) <= 100, operation["operationId"]
        assert summary[0].isupper(), operation["operationId"]
        assert f"</code> {summary}</summary>" in text


def test_nothing_is_loaded_and_only_the_pages_style_is_allowed():
    text = page()
    assert not re.search(r"<script|<link|<img|\bsrc=|https?://|\bon\w+=", text)
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in content_policy()
    assert "default-src 'none'" in content_policy()


def test_text_of_the_schema_is_text():
    schema = describe_app().openapi()
    hostile = "<script>alert(1)</script>"
    operation = {"description": hostile, "tags": [hostile], "responses": {}}
    parameter = {"name": hostile, "in": "query", "description": hostile}
    schema = {**schema, "paths": {f"/{hostile}": {"get": {**operation, "parameters": [parameter]}}}}
    assert "<script" not in render_docs(schema)


async def test_the_route_sends_the_page_with_its_policy():
    async def identify(_):
        return Owner(tenant="t", user="u")

    app = describe_app()
    app.state.identify = identify
    transport = httpx.ASGITransport(app=app)
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        answer = await client.get("/docs")
        assert (await client.get("/redoc")).status_code == 404
    assert answer.status_code == 200
    assert answer.headers["content-type"].startswith("text/html")
    assert answer.headers["content-security-policy"] == content_policy()
