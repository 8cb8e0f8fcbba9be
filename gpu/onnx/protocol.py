"""Open Inference Protocol v2 over HTTP with the binary tensor data extension: turns bytes into
tensors and back. It does not depend on the model. gpu/worker/src/protocol.js is the same in
JavaScript."""

import json
import struct
from dataclasses import dataclass
from math import prod

import numpy as np

DATATYPES = {"BOOL": "?", "UINT8": "u1", "INT32": "<i4", "FP32": "<f4"}


class ProtocolError(Exception):
    """An invalid request, or one that the server refuses, with the HTTP status of the response."""

    def __init__(self, status, message):
        super().__init__(message)
        self.status = status


@dataclass
class Tensor:
    """An input. data is None when it was sent as bytes, raw when it was sent as JSON."""

    name: str
    datatype: str
    shape: list
    raw: memoryview | None
    data: list | None

    def elements(self):
        """Returns the values of a BYTES tensor, as bytes."""
        self._expect("BYTES")
        values = [str(v).encode() for v in self.data] if self.raw is None else self._split()
        self._count(len(values))
        return values

    def array(self, datatype):
        """Returns the values of another tensor, in its shape."""
        self._expect(datatype)
        try:
            values = np.frombuffer(self.raw, DATATYPES[datatype]) if self.data is None else np.array(self.data, DATATYPES[datatype])
        except (OverflowError, TypeError, ValueError) as error:
            raise ProtocolError(400, f"input {self.name}: {error}") from error
        self._count(values.size)
        return values.reshape(self.shape)

    def _split(self):
        values, at = [], 0
        while at < len(self.raw):
            end = at + 4 + struct.unpack_from("<I", self.raw, at)[0] if at + 4 <= len(self.raw) else len(self.raw) + 1
            if end > len(self.raw):
                raise ProtocolError(400, f"input {self.name}: an element is cut off")
            values.append(bytes(self.raw[at + 4 : end]))
            at = end
        return values

    def _expect(self, datatype):
        if self.datatype != datatype:
            raise ProtocolError(400, f"input {self.name}: datatype is {self.datatype}, must be {datatype}")

    def _count(self, found):
        if found != prod(self.shape):
            raise ProtocolError(400, f"input {self.name}: {found} elements, but its shape has {prod(self.shape)}")


@dataclass
class Request:
    """inputs are by name. outputs is None when all are wanted."""

    id: str | None
    inputs: dict
    outputs: set | None
    binary: bool


def parse_request(body, header_length):
    """Reads a request. header_length is the value of Inference-Header-Content-Length or None."""
    length = len(body) if header_length is None else int(header_length) if header_length.isdecimal() else -1
    if not 0 <= length <= len(body):
        raise ProtocolError(400, "Inference-Header-Content-Length does not fit the body")
    try:
        header = json.loads(bytes(body[:length]))
    except ValueError:
        header = None
    if not isinstance(header, dict):
        raise ProtocolError(400, "the header is not a JSON object")
    if not isinstance(header.get("inputs"), list):
        raise ProtocolError(400, "inputs: required")
    inputs, view = {}, memoryview(body)[length:]
    for described in header["inputs"]:
        tensor, view = _read_tensor(described, view)
        if tensor.name in inputs:
            raise ProtocolError(400, f"input {tensor.name} occurs twice")
        inputs[tensor.name] = tensor
    if view:
        raise ProtocolError(400, "the body has bytes after the last input")
    outputs, binary = _read_outputs(header)
    return Request(header.get("id"), inputs, outputs, binary)


def _parameters(described):
    parameters = described.get("parameters")
    return parameters if isinstance(parameters, dict) else {}


def _read_tensor(described, view):
    """Returns a tensor and the bytes after it."""
    if not isinstance(described, dict) or not all(isinstance(described.get(key), str) for key in ("name", "datatype")):
        raise ProtocolError(400, "an input needs a name and a datatype")
    name, shape = described["name"], described.get("shape")
    if not isinstance(shape, list) or not all(type(n) is int and n >= 0 for n in shape):
        raise ProtocolError(400, f"input {name}: invalid shape")
    size = _parameters(described).get("binary_data_size")
    if size is None:
        if not isinstance(described.get("data"), list):
            raise ProtocolError(400, f"input {name}: its data is missing")
        return Tensor(name, described["datatype"], shape, None, list(_flat(described["data"]))), view
    if type(size) is not int or not 0 <= size <= len(view):
        raise ProtocolError(400, f"input {name}: binary_data_size does not fit the body")
    return Tensor(name, described["datatype"], shape, view[:size], None), view[size:]


def _flat(values):
    for value in values:
        if isinstance(value, list):
            yield from _flat(value)
        else:
            yield value


def _read_outputs(header):
    binary = _parameters(header).get("binary_data_output") is True
    if "outputs" not in header:
        return None, binary
    outputs = header["outputs"]
    if not isinstance(outputs, list) or not all(isinstance(o, dict) and isinstance(o.get("name"), str) for o in outputs):
        raise ProtocolError(400, "outputs: must be a list of named outputs")
    return {o["name"] for o in outputs}, binary or any(_parameters(o).get("binary_data") is True for o in outputs)


def encode_response(model, version, request, outputs):
    """Encodes (name, datatype, array) triples. Returns the body, and the length of its header or
    None when it is JSON only."""
    header = {"model_name": model, "model_version": version, "outputs": []}
    if request.id is not None:
        header["id"] = request.id
    raw = []
    for name, datatype, values in outputs:
        described = {"name": name, "datatype": datatype, "shape": list(values.shape)}
        values = np.ascontiguousarray(values, DATATYPES[datatype])
        if request.binary:
            raw.append(values.tobytes())
            described["parameters"] = {"binary_data_size": len(raw[-1])}
        else:
            described["data"] = values.ravel().tolist()
        header["outputs"].append(described)
    text = json.dumps(header).encode()
    return b"".join([text, *raw]), len(text) if request.binary else None
