"""A client of a live stream that shares no code with the service: aiortc for media, aiohttp for signaling.

    client.py signal URL    over the WebSocket of a stream
    client.py whip URL      over WHIP; the results come from the event stream URL/../events

The variable TOKEN is the credential for WHIP.

It shows a bright scene. Commands on the standard input: "bright", "dark", "close" (closes the connection of
the media), "delete" (WHIP), or a JSON message to send.
Each message of the service is printed as a line of JSON, and the close of the socket as {"closed": code}.
"""

import asyncio
import json
import os
import sys

import aiohttp
import av
from aiortc import RTCPeerConnection, RTCSessionDescription, VideoStreamTrack


class Scene(VideoStreamTrack):
    """Pictures of one brightness, with a stripe that moves."""

    luma = 235

    async def recv(self):
        pts, time_base = await self.next_timestamp()
        frame = av.VideoFrame(320, 180, "yuv420p")
        stripe = pts // 3000 * 8 % 320
        luma = bytearray([self.luma]) * (320 * 180)
        for y in range(180):
            luma[y * 320 + stripe : y * 320 + stripe + 8] = b"\x80" * 8
        for plane, content in zip(frame.planes, (luma, b"\x80" * (160 * 90), b"\x80" * (160 * 90))):
            line, width = plane.line_size, plane.width
            padded = bytearray(line * plane.height)
            for y in range(plane.height):
                padded[y * line : y * line + width] = content[y * width : (y + 1) * width]
            plane.update(bytes(padded))
        frame.pts, frame.time_base = pts, time_base
        return frame


def show(value):
    print(json.dumps(value), flush=True)


async def commands():
    """Yields the lines of the standard input."""
    reader = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), sys.stdin)
    while line := await reader.readline():
        yield line.decode().strip()


async def obey(pc, scene, send):
    async for command in commands():
        if command in ("bright", "dark"):
            scene.luma = 235 if command == "bright" else 16
        elif command == "close":
            await pc.close()
        else:
            await send(command)


async def offer(pc):
    await pc.setLocalDescription(await pc.createOffer())
    return pc.localDescription.sdp


async def accept(pc, sdp):
    await pc.setRemoteDescription(RTCSessionDescription(sdp=sdp, type="answer"))


async def signal(session, url, pc, scene):
    async with session.ws_connect(url) as ws:
        await ws.send_json({"type": "join"})
        listener = asyncio.create_task(obey(pc, scene, ws.send_str))
        async for m in ws:
            message = json.loads(m.data)
            show(message)
            if message["type"] == "ready":
                await ws.send_json({"type": "offer", "sdp": await offer(pc)})
                await ws.send_json({"type": "ice", "candidate": None})
            elif message["type"] == "answer":
                await accept(pc, message["sdp"])
        show({"closed": ws.close_code})
        listener.cancel()


async def whip(session, url, pc, scene):
    async with session.post(url, data=await offer(pc), headers={"Content-Type": "application/sdp"}) as r:
        body = await r.text()
        show({"status": r.status, "location": r.headers.get("Location"), "etag": r.headers.get("ETag")})
        r.raise_for_status()
    await accept(pc, body)

    deleting = asyncio.Lock()

    async def send(command):
        assert command == "delete"
        async with deleting, session.delete(url) as r:
            show({"deleted": r.status})

    listener = asyncio.create_task(obey(pc, scene, send))
    async with session.get(url.rsplit("/", 1)[0] + "/events") as r:
        async for line in r.content:
            if line.startswith(b"data: "):
                show(json.loads(line[6:]))
    async with deleting:
        show({"closed": 0})
    listener.cancel()


async def main(mode, url):
    pc, scene = RTCPeerConnection(), Scene()
    pc.addTrack(scene)
    headers = {"Authorization": "Bearer " + os.environ["TOKEN"]} if mode == "whip" else {}
    async with aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=120), headers=headers) as session:
        await {"signal": signal, "whip": whip}[mode](session, url, pc, scene)
    await pc.close()


asyncio.run(main(*sys.argv[1:]))
