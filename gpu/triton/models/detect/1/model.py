"""Triton's Python backend around the detector."""

import json
import os

import numpy as np
import torch
import triton_python_backend_utils as pb_utils
from detector import Detector, InvalidRequest


class TritonPythonModel:
    def initialize(self, args):
        config = json.loads(args["model_config"])
        parameter = {name: value["string_value"] for name, value in config["parameters"].items()}
        device = f"cuda:{args['model_instance_device_id']}" if args["model_instance_kind"] == "GPU" else "cpu"
        self.detector = Detector(
            source=os.environ.get("DETECT_SOURCE") or parameter["source"],
            revision=os.environ.get("DETECT_REVISION") or parameter.get("revision") or None,
            device=device,
            threshold=parameter["threshold"],
            batch=parameter["batch"],
        )
        # Clients read these parameters, and Triton reports them as the file has them. They must
        # not stay the same when the weights or the image change.
        true = {"model": self.detector.weights, "digest": self.detector.digest}
        if image := os.environ.get("NVIDIA_TRITON_SERVER_VERSION"):
            true["worker"] = f"triton/{image}"
        wrong = [f"{name} is {value}" for name, value in true.items() if parameter.get(name) != value]
        if wrong:
            raise pb_utils.TritonModelException(f"set the parameters of config.pbtxt: {', '.join(wrong)}")

    def execute(self, requests):
        return [self._answer(request) for request in requests]

    def _answer(self, request):
        if request.is_cancelled():
            # The client canceled it while it waited.
            return _failure("the request was canceled", pb_utils.TritonError.CANCELLED)
        try:
            terms = [term.decode() for term in _values(request, "TERMS")]
            pose = _values(request, "WANT_POSE")
            want_pose = "KEYPOINTS" in request.requested_output_names() or (pose is not None and bool(pose[0]))
            tensors = self.detector.detect(list(_values(request, "FRAMES")), terms, want_pose)
        except (InvalidRequest, UnicodeDecodeError) as error:
            return _failure(str(error), pb_utils.TritonError.INVALID_ARG)
        except torch.cuda.OutOfMemoryError:
            torch.cuda.empty_cache()
            return _failure("the device is out of memory", pb_utils.TritonError.UNAVAILABLE)
        wanted = request.requested_output_names()
        return pb_utils.InferenceResponse([pb_utils.Tensor(n, t) for n, t in tensors.items() if n in wanted])

    def finalize(self):
        self.detector.close()


def _values(request, name):
    tensor = pb_utils.get_input_tensor_by_name(request, name)
    return None if tensor is None else np.ravel(tensor.as_numpy())


def _failure(text, code):
    return pb_utils.InferenceResponse(output_tensors=[], error=pb_utils.TritonError(text, code))
