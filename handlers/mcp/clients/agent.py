"""Asks one question with the Python SDK and prints each step as a line of JSON.

Usage: VQA_API_KEY=… python agent.py URL
"""

import asyncio
import json
import os
import sys

import httpx2
from mcp import Client
from mcp.client.streamable_http import streamable_http_client


def show(step):
    print(json.dumps(step), flush=True)


async def ask(url, key):
    async with httpx2.AsyncClient(headers={"Authorization": f"Bearer {key}"}, timeout=60) as connection:
        async with Client(streamable_http_client(url, http_client=connection)) as client:
            listed = await client.list_tools()
            show({"tools": [tool.name for tool in listed.tools]})

            async def call(name, arguments, progress=None):
                result = await client.call_tool(name, arguments, progress_callback=progress)
                value = json.loads(result.content[0].text)
                if not result.is_error and value != result.structured_content:
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


asyncio.run(ask(sys.argv[1], os.environ["VQA_API_KEY"]))
