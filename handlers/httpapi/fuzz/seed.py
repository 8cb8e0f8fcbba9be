"""Creates resources for the fuzzer: seed.py BASE LIVE_KEY.

Creates a ready video and an analysis of it with the live key, and a sandbox with an analysis
of its fixture video. Prints the test key of the sandbox.
"""

import json
import sys
import urllib.request

TIMEOUT_S = 30


def send(method, url, key=None, body=None, headers=None, data=None):
    """Sends bytes or JSON and returns the bytes of the response. Raises outside 2xx."""
    headers = dict(headers or {})
    if key:
        headers["Authorization"] = "Bearer " + key
    if body is not None:
        data = json.dumps(body).encode()
        headers["Content-Type"] = "application/json"
    request = urllib.request.Request(url, data, headers, method=method)
    with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
        return response.read()


def main(base, live):
    clip = send("GET", base + "/v1/test-fixture/video.mp4")
    video = json.loads(send("POST", base + "/v1/videos", live, {"content_type": "video/mp4"}))
    upload = video["upload"]
    send(upload["method"], upload["url"], headers=upload["headers"], data=clip)
    send("POST", f"{base}/v1/videos/{video['id']}/complete", live)
    send("POST", base + "/v1/analyses", live, {"video_id": video["id"], "prompt": "Is there a ball?"})

    sandbox = json.loads(send("POST", base + "/v1/sandbox"))
    send("POST", base + "/v1/analyses", sandbox["api_key"],
         {"video_id": sandbox["fixture_video_id"], "prompt": sandbox["fixture_prompt"]})
    print(sandbox["api_key"])


main(*sys.argv[1:])
