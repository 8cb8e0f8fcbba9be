"""Serves an ONNX model as the model `detect` of gpu/oip/doc.go over HTTP. doc.go says how to run
it, and what a manifest holds."""

import argparse
import asyncio
import json
import sys
from importlib.metadata import version

from aiohttp import web

import manifest
from colors import COLUMNS
from detector import OUTPUTS, Detector
from protocol import ProtocolError, encode_response, parse_request
from session import PROVIDERS

MODEL, VERSION, PROGRAM = "detect", "1", "vqa-onnx"
MAX_BODY_BYTES = 64 << 20
# Most bodies that are read at once: it bounds the memory.
READERS = 16
DETECTOR = web.AppKey("detector", Detector)
METADATA = web.AppKey("metadata", dict)
READING = web.AppKey("reading", asyncio.Semaphore)
READ_S = web.AppKey("read_s", float)


@web.middleware
async def errors(request, handler):
    """Answers every error as JSON."""
    try:
        return await handler(request)
    except ProtocolError as error:
        status, text = error.status, str(error)
    except TimeoutError:
        status, text = 408, "the body did not arrive in time"
    except web.HTTPException as error:  # of aiohttp: an unknown route, a body over the limit
        status, text = error.status, error.reason
    return web.json_response({"error": text}, status=status, headers={"Retry-After": "1"} if status == 429 else None)


async def infer(request):
    detector = request.app[DETECTOR]
    detector.admit(1)  # before the body is read
    async with request.app[READING]:
        body = await asyncio.wait_for(request.read(), request.app[READ_S])
    parsed = parse_request(body, request.headers.get("Inference-Header-Content-Length"))
    body, header_length = encode_response(MODEL, VERSION, parsed, await detector.detect(parsed))
    if header_length is None:
        return web.Response(body=body, content_type="application/json")
    headers = {"Inference-Header-Content-Length": str(header_length)}
    return web.Response(body=body, content_type="application/octet-stream", headers=headers)


async def statistics(request):
    """The batches formed since the start, as Triton's statistics extension reports them."""
    formed = request.app[DETECTOR].formed
    stats = {
        "name": MODEL,
        "version": VERSION,
        "inference_count": sum(size * count for size, count in formed.items()),
        "execution_count": sum(formed.values()),
        "batch_stats": [{"batch_size": size, "compute_infer": {"count": count}} for size, count in sorted(formed.items())],
    }
    return web.json_response({"model_stats": [stats]})


def metadata(detector, rules, options):
    parameters = {
        "model": rules.weights,
        "digest": detector.digest,
        "license": rules.license,
        "worker": f"{PROGRAM}/{version('onnxruntime')}-{options.provider}",
        "vocabulary": ",".join(detector.vocabulary),
        "colors": ",".join(COLUMNS),
        # Two batches: one is computed while the other is decoded.
        "max_concurrency": str(2 * detector.batch),
    }
    return {
        "name": MODEL,
        "versions": [VERSION],
        "platform": "onnxruntime",
        "inputs": [
            {"name": "FRAMES", "datatype": "BYTES", "shape": [-1]},
            {"name": "TERMS", "datatype": "BYTES", "shape": [-1]},
            {"name": "WANT_POSE", "datatype": "BOOL", "shape": [1]},
            {"name": "WANT_ROTATIONS", "datatype": "BOOL", "shape": [1]},
        ],
        "outputs": [{"name": name, "datatype": kind, "shape": [-1, *shape]} for name, (kind, shape) in OUTPUTS.items()],
        "parameters": parameters,
    }


def application(options):
    app = web.Application(middlewares=[errors], client_max_size=MAX_BODY_BYTES)
    server = {"name": PROGRAM, "version": version("onnxruntime"), "extensions": ["binary_tensor_data", "statistics"]}
    model = f"/v2/models/{MODEL}"
    answers = {"/v2": server, "/v2/health/live": {"live": True}, "/v2/health/ready": {"ready": True}, f"{model}/ready": {"name": MODEL, "ready": True}}
    for path, value in answers.items():
        app.router.add_get(path, lambda _, value=value: web.json_response(value))
    app.router.add_get(model, lambda request: web.json_response(request.app[METADATA]))
    app.router.add_get(f"{model}/stats", statistics)
    app.router.add_post(f"{model}/infer", infer)

    app[READING], app[READ_S] = asyncio.Semaphore(READERS), options.read_s

    async def load(app):
        rules, content = manifest.load(options.manifest)
        pose = manifest.load(options.pose) if options.pose else None
        app[DETECTOR] = Detector(rules, content, pose, options)
        app[METADATA] = metadata(app[DETECTOR], rules, options)
        yield
        await app[DETECTOR].close()

    app.cleanup_ctx.append(load)
    return app


def sizes(text):
    numbers = {int(number) for number in text.split(",")}
    if not all(1 <= number <= 1024 for number in numbers):
        raise ValueError
    return numbers


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("manifest", help="manifest of the detector")
    parser.add_argument("--pose", help="manifest of a model for poses")
    parser.add_argument("--provider", choices=PROVIDERS, default="cuda", help="what computes")
    parser.add_argument("--device", type=int, default=0, help="number of the GPU")
    parser.add_argument("--threads", type=int, default=0, help="threads of the provider cpu; 0: the cores of the machine")
    parser.add_argument("--batch", type=sizes, default="1,2,4,8,16", help="sizes of a batch")
    parser.add_argument("--wait-ms", type=float, default=5, help="longest wait of a frame for others, in ms")
    parser.add_argument("--queue", type=int, default=256, help="most unanswered frames; requests beyond are refused with 429")
    parser.add_argument("--read-s", type=float, default=30, help="longest time for the body of a request, in s")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=8000)
    options = parser.parse_args()
    try:
        web.run_app(
            application(options), host=options.host, port=options.port, handler_cancellation=True, access_log=None,
            print=lambda _: print(json.dumps({"serving": f"http://{options.host}:{options.port}"}), flush=True),
        )
    except manifest.ManifestError as error:
        sys.exit(f"serve.py: {error}")


if __name__ == "__main__":
    main()
