"""Asks one question with the Python SDK and prints each step as a line of JSON.

Usage: VQA_API_KEY=… python agent.py URL

Without VQA_API_KEY it asks a person for a permission: it prints {"authorize": ADDRESS} and reads the address of the
redirect from its input. VQA_CLIENT_DOCUMENT is the address of its metadata document; without it, it registers itself.
"""

import asyncio
import json
import os
import sys
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp import Client
from mcp.client.auth import AuthorizationCodeResult, OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import OAuthClientMetadata

REDIRECT = "http://127.0.0.1:9/callback"


def show(step):
    print(json.dumps(step), flush=True)


class Kept:
    """What a program keeps between its authorization and its calls."""

    tokens = client = None

    async def get_tokens(self):
        return self.tokens

    async def set_tokens(self, tokens):
        self.tokens = tokens

    async def get_client_info(self):
        return self.client

    async def set_client_info(self, client):
        self.client = client


def permission(url):
    """Return the authentication that asks a person."""
    kept = Kept()

    async def ask(address):
        show({"authorize": address, "client": kept.client and kept.client.client_id})

    async def answer():
        line = await asyncio.to_thread(sys.stdin.readline)
        given = parse_qs(urlsplit(line.strip()).query)
        return AuthorizationCodeResult(code=given["code"][0], state=given["state"][0], iss=given["iss"][0])

    described = OAuthClientMetadata(client_name="agent.py", redirect_uris=[REDIRECT], token_endpoint_auth_method="none")
    return OAuthClientProvider(url, described, kept, ask, answer, client_metadata_url=os.environ.get("VQA_CLIENT_DOCUMENT") or None)


def connection(url):
    key = os.environ.get("VQA_API_KEY")
    if key:
        return httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60)
    return httpx2.AsyncClient(auth=permission(url), timeout=60)


async def ask(url):
    async with connection(url) as http:
        async with Client(streamable_http_client(url, http_client=http)) as client:
            listed = await client.list_tools()
            show({"tools": [tool.name for tool in listed.tools]})

            async def call(name, arguments, progress=None):
                result = await client.call_tool(name, arguments, progress_callback=progress)
                value = json.loads(result.content[0].text)
                full = result.structured_content
                differs = full["analysis"]["id"] != value["analysis"]["id"] if full and "analysis" in full else full != value
                if not result.is_error and differs:
                    raise ValueError(f"{name}: text and structured content differ")
                show({"tool": name, "arguments": arguments, "isError": result.is_error, "result": value})
                return value

            fixture = await call("get_test_fixture", {})
            question = {"video_id": fixture["video_id"], "prompt": fixture["prompt"]}
            await call("validate_analysis", question)
            created = await call("create_analysis", {**question, "idempotency_key": "agent-python"})
            heard = []

            async def progress(value, total, message):
                heard.append(value)

            await call("wait_for_analysis", {"analysis_id": created["analysis"]["id"]}, progress)
            show({"progress": len(heard)})
            await call("get_analysis", {"analysis_id": "an_00000000000000000000000000"})


asyncio.run(ask(sys.argv[1]))
