"""An ONNX model on a device."""

import numpy as np
import onnxruntime as ort

from manifest import ManifestError

PROVIDERS = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider", "tensorrt": "TensorrtExecutionProvider"}


def one_line(error):
    """The text of an error of onnxruntime, which has many kinds of them and several lines."""
    return " ".join(str(error).split())


class Session:
    """Runs batches, concurrently too. sizes are the sizes of a batch that the model takes."""

    def __init__(self, manifest, model, options):
        """model holds the bytes of the ONNX model. options are those of serve.py."""
        chosen = PROVIDERS[options.provider]
        if chosen not in ort.get_available_providers():
            raise ManifestError(f"--provider {options.provider}: this onnxruntime has only {', '.join(ort.get_available_providers())}")
        settings = ort.SessionOptions()
        settings.intra_op_num_threads = options.threads
        # Parts that a provider cannot compute go to the next one.
        names = list(PROVIDERS.values())[: list(PROVIDERS).index(options.provider) + 1][::-1]
        each = {} if options.provider == "cpu" else {"device_id": options.device}
        providers = [(name, each if name != PROVIDERS["cpu"] else {}) for name in names]
        try:
            self._session = ort.InferenceSession(model, settings, providers=providers)
        except Exception as error:
            raise ManifestError(f"file: {one_line(error)}") from error
        if self._session.get_providers()[0] != chosen:
            # onnxruntime falls back silently, for example without the libraries of CUDA.
            raise ManifestError(f"--provider {options.provider}: it cannot be used here")
        inputs = {i.name: i for i in self._session.get_inputs()}
        outputs = [o.name for o in self._session.get_outputs()]
        self._terms = manifest.terms.names if manifest.terms else []
        wanted = {manifest.input.name, *self._terms}
        if wanted != set(inputs):
            raise ManifestError(f"input.name, terms.names: the model has the inputs {', '.join(inputs)}")
        for name in manifest.output.names:
            if name not in outputs:
                raise ManifestError(f"output.names: {name} is not an output; the model has {', '.join(outputs)}")
        self._input, self._outputs = manifest.input.name, manifest.output.names
        self._type = np.float16 if inputs[self._input].type == "tensor(float16)" else np.float32
        fixed = inputs[self._input].shape[0]
        self.sizes = {fixed} if isinstance(fixed, int) else {1, *options.batch}
        if self.sizes != {1} and isinstance(fixed, int):
            raise ManifestError(f"file: the model takes only batches of {fixed}; export it with a dynamic batch, or with a batch of 1")

    def run(self, key, values):
        """Returns the outputs for each of the inputs. key is their shape, and the encoded terms of an open model."""
        feeds = {self._input: np.stack(values).astype(self._type, copy=False)}
        if self._terms:
            feeds |= dict(zip(self._terms, key[1].arrays))
        outputs = [o.astype(np.float32, copy=False) for o in self._session.run(self._outputs, feeds)]
        return list(zip(*outputs))
