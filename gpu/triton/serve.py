"""Serves the model `detect` without Triton, on KServe's model server: for one GPU box.

It serves HTTP and gRPC of the Open Inference Protocol v2. The names of the weights are
available over HTTP only (GET /v2/models/detect/config, as in Triton), so use the http://
address of this server.
"""

import argparse
import asyncio
import json
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from pathlib import Path

import kserve
import numpy as np
from fastapi import HTTPException
from grpc_interceptor.exceptions import ResourceExhausted
from kserve.errors import InvalidInput
from kserve.model_server import app
from kserve.protocol.dataplane import DataPlane
from kserve.protocol.infer_type import InferInput, InferOutput, InferRequest, InferResponse, RequestedOutput

sys.path.insert(0, str(Path(__file__).parent / "models" / "detect" / "1"))
from detector import Detector, InvalidRequest  # noqa: E402  after its folder is on the path

DATATYPES = {"float32": "FP32", "int32": "INT32", "bool": "BOOL", "uint8": "UINT8"}
SHAPES = {"BOXES": [-1, 4], "KEYPOINTS": [-1, 17, 3], "SHADES": [-1, 32, 32]}
MAX_REQUEST_BYTES = 256 << 20
# Largest number of batches that wait for the device. Further requests are refused, so that
# their clients try another server.
MAX_WAITING = 16


class Plane(DataPlane):
    """Reads binary inputs over HTTP as bytes. The one of KServe reads them as UTF-8 text."""

    def decode_inference_request(self, body, headers, model_name):
        if not isinstance(body, bytes):
            return super().decode_inference_request(body, headers, model_name)
        try:
            length = int(headers["inference-header-content-length"])
            header = json.loads(body[:length])
            binary, typed, contents = [], [], []
            for tensor in header["inputs"]:
                described = InferInput(tensor["name"], tensor["shape"], tensor["datatype"], tensor.get("data"))
                if "data" in tensor:
                    typed.append(described)
                    continue
                size = int(tensor["parameters"]["binary_data_size"])
                if not 0 <= size <= len(body) - length:
                    raise ValueError(f"binary_data_size is {size}, but {len(body) - length} bytes are left")
                binary.append(described)
                contents.append(body[length : length + size])
                length += size
            outputs = [RequestedOutput(o["name"], o.get("parameters")) for o in header.get("outputs") or []]
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidInput(f"malformed request: {error!r}") from error
        return InferRequest(
            model_name,
            binary + typed,  # the contents belong to the first inputs
            header.get("id"),
            raw_inputs=contents,
            parameters=header.get("parameters"),
            request_outputs=outputs or None,
        )


class Detect(kserve.Model):
    def __init__(self, detector):
        super().__init__("detect")
        self._detector = detector
        self._device = ThreadPoolExecutor(max_workers=1, thread_name_prefix="device")
        self._waiting = 0
        self.ready = True

    def parameters(self):
        # Two batches: one is processed while the next one is decoded.
        return {
            "model": self._detector.weights,
            "digest": self._detector.digest,
            "worker": f"kserve/{version('kserve')}",
            "max_concurrency": str(2 * self._detector.batch),
        }

    def get_input_types(self):
        return [{"name": name, "datatype": "BYTES", "shape": [-1]} for name in ("FRAMES", "TERMS")]

    def get_output_types(self):
        types = {"BOXES": "FP32", "SCORES": "FP32", "TERM_INDEX": "INT32", "FRAME_INDEX": "INT32", "KNOWN_TERMS": "BOOL", "SHADES": "UINT8"}
        return [{"name": name, "datatype": type, "shape": SHAPES.get(name, [-1])} for name, type in types.items()]

    async def predict(self, payload, headers=None, response_headers=None):
        frames, terms = _values(payload, "FRAMES"), _terms(payload)
        if self._waiting and self._waiting + len(frames) > MAX_WAITING * self._detector.batch:
            full = "the server is busy"
            raise ResourceExhausted(full) if payload.from_grpc else HTTPException(429, full)
        wanted = {output.name for output in payload.request_outputs or []}
        self._waiting += len(frames)
        try:
            begun = self._detector.begin(frames, terms)
            tensors = await asyncio.get_running_loop().run_in_executor(
                self._device, self._detector.finish, begun, "KEYPOINTS" in wanted
            )
        except InvalidRequest as error:
            raise InvalidInput(str(error)) from error
        finally:
            self._waiting -= len(frames)
        outputs = [_output(name, tensor) for name, tensor in tensors.items() if not wanted or name in wanted]
        return InferResponse(
            response_id=payload.id,
            model_name=self.name,
            infer_outputs=outputs,
            use_binary_outputs=payload.use_binary_outputs,
            requested_outputs=payload.request_outputs,
        )


def _values(payload, name):
    tensor = payload.get_input_by_name(name)
    if tensor is None or tensor.datatype != "BYTES":
        raise InvalidInput(f"the input {name} of BYTES is missing")
    try:
        values = np.ravel(tensor.as_numpy())
    except Exception as error:  # lengths or a shape that do not fit the bytes
        raise InvalidInput(f"{name}: {error!r}") from error
    return [value.encode() if isinstance(value, str) else bytes(value) for value in values]


def _terms(payload):
    try:
        return [value.decode() for value in _values(payload, "TERMS")]
    except UnicodeDecodeError as error:
        raise InvalidInput(f"TERMS: {error}") from error


def _output(name, tensor):
    output = InferOutput(name, list(tensor.shape), DATATYPES[tensor.dtype.name])
    output.set_data_from_numpy(tensor, binary_data=True)
    return output


def main():
    parser = argparse.ArgumentParser(parents=[kserve.model_server.parser], description=__doc__)
    parser.add_argument("--source", required=True, help="folder of the weights, or their name on the model hub")
    parser.add_argument("--revision", help="commit on the hub; give one, so that the weights stay the same")
    parser.add_argument("--device", help="cuda, cuda:1 or cpu; default: the first GPU, else cpu")
    parser.add_argument("--threshold", type=float, default=0.1, help="least reported raw score")
    parser.add_argument("--batch", type=int, default=16, help="frames that the device processes at once")
    args = parser.parse_args()
    detector = Detector(args.source, args.revision, args.device, args.threshold, args.batch, os.cpu_count() or 4)
    model = Detect(detector)

    @app.get("/v2/models/detect/config")
    async def config():
        return {"name": "detect", "parameters": {n: {"string_value": v} for n, v in model.parameters().items()}}

    # KServe's own limit is 8 MiB, which a batch of large frames exceeds.
    kserve.model_server.args.grpc_max_receive_message_length = MAX_REQUEST_BYTES
    try:
        server = kserve.ModelServer(workers=1)
        server.dataplane = Plane(model_registry=server.registered_models)
        server.start([model])
    finally:
        detector.close()


if __name__ == "__main__":
    main()
