"""Tests of the detector and of the Triton model around it, on random weights in the
folder TINY (testdata/tiny.py)."""

import io
import json
import os
import re
import sys
import types
import unittest
from pathlib import Path
from unittest import mock

import numpy as np
import torch
from PIL import Image
from transformers import AutoTokenizer, Owlv2ForObjectDetection

sys.path.insert(0, str(Path(__file__).parent / "models" / "detect" / "1"))
import detector as d  # noqa: E402  after its folder is on the path

TINY = os.environ["TINY"]


def jpeg(width, height, seed=1):
    pixels = np.random.RandomState(seed).randint(0, 255, (height, width, 3), dtype=np.uint8)
    file = io.BytesIO()
    Image.fromarray(pixels).save(file, "JPEG")
    return file.getvalue()


class DetectorTest(unittest.TestCase):
    def setUp(self):
        self.detector = d.Detector(TINY, device="cpu", threshold=0, batch=2)
        self.addCleanup(self.detector.close)

    def test_shapes_and_ranges(self):
        frames, terms = [jpeg(100, 50), jpeg(50, 100), jpeg(64, 64)], ["dog", "red car", "x" * 60]
        out = self.detector.detect(frames, terms, want_pose=True)
        rows = len(out["SCORES"])
        self.assertGreater(rows, 0)
        self.assertEqual(out["BOXES"].shape, (rows, 4))
        self.assertEqual(out["KEYPOINTS"].shape, (rows, 17, 3))
        self.assertFalse(out["KEYPOINTS"].any())
        self.assertEqual(out["KNOWN_TERMS"].tolist(), [True, True, False], "a term over the encoder's length")
        self.assertTrue(((out["BOXES"] >= 0) & (out["BOXES"] <= 1)).all())
        self.assertTrue((out["BOXES"][:, :2] <= out["BOXES"][:, 2:]).all())
        self.assertLess(out["TERM_INDEX"].max(), 2)
        self.assertEqual(set(out["FRAME_INDEX"].tolist()), {0, 1, 2})

    def test_equals_the_model_as_transformers_runs_it(self):
        frame, terms = jpeg(64, 64), ["dog", "cat"]
        with Image.open(io.BytesIO(frame)) as image:
            pixels = torch.from_numpy(np.array(image)).permute(2, 0, 1).float() / 255
        mean, std = torch.tensor(d.OPENAI_CLIP_MEAN), torch.tensor(d.OPENAI_CLIP_STD)
        pixels = ((pixels - mean.view(3, 1, 1)) / std.view(3, 1, 1)).unsqueeze(0)
        text = AutoTokenizer.from_pretrained(TINY)(
            [d.PROMPT.format(t) for t in terms], padding="max_length", return_tensors="pt"
        )
        with torch.inference_mode():
            whole = Owlv2ForObjectDetection.from_pretrained(TINY).eval()(pixel_values=pixels, **text)
        scores = whole.logits[0].sigmoid()
        out = self.detector.detect([frame], terms)
        for box, score, term in zip(out["BOXES"], out["SCORES"], out["TERM_INDEX"]):
            patch = (scores[:, term] - score).abs().argmin()
            self.assertAlmostEqual(scores[patch, term].item(), float(score), places=5)
            x, y, w, h = whole.pred_boxes[0, patch].tolist()
            want = np.clip([x - w / 2, y - h / 2, x + w / 2, y + h / 2], 0, 1)
            np.testing.assert_allclose(box, want, atol=1e-5)
        self.assertAlmostEqual(out["SCORES"].max().item(), scores.max().item(), places=5)

    def test_same_request_same_answer(self):
        request = [jpeg(80, 60), jpeg(80, 60, 2), jpeg(80, 60, 3)], ["dog"]
        first, second = self.detector.detect(*request), self.detector.detect(*request)
        for name, tensor in first.items():
            np.testing.assert_array_equal(tensor, second[name], name)

    def test_only_unknown_terms(self):
        out = self.detector.detect([jpeg(64, 64)], ["y" * 60])
        self.assertEqual((len(out["SCORES"]), out["BOXES"].shape), (0, (0, 4)))
        self.assertEqual(out["SHADES"].shape, (1, 32, 32), "shades are sent for every frame")

    def test_brightness_of_parts(self):
        picture = Image.new("RGB", (64, 96))
        picture.paste((255, 255, 255), (32, 0, 64, 96))
        file = io.BytesIO()
        picture.save(file, "JPEG", quality=95)
        shades = self.detector.detect([jpeg(8, 8), file.getvalue()], ["dog"])["SHADES"]
        self.assertEqual((shades.dtype, shades.shape), (np.uint8, (2, 32, 32)))
        self.assertEqual((shades[1, :, :14].max(), shades[1, :, 18:].min()), (0, 31))

    def test_refuses_invalid_requests(self):
        for name, frames, terms in [
            ("no frames", [], ["dog"]),
            ("too many frames", [jpeg(8, 8)] * 65, ["dog"]),
            ("no terms", [jpeg(8, 8)], []),
            ("text", [b"hello"], ["dog"]),
            ("a cut picture", [jpeg(64, 64)[:200]], ["dog"]),
            ("text beside unknown terms", [b"hello"], ["y" * 60]),
        ]:
            with self.subTest(name), self.assertRaises(d.InvalidRequest):
                self.detector.detect(frames, terms)

    def test_weights_are_named_by_their_content(self):
        other = d.Detector(TINY, device="cpu")
        self.addCleanup(other.close)
        self.assertEqual((other.weights, other.digest), (self.detector.weights, self.detector.digest))
        self.assertRegex(other.digest, "^[0-9a-f]{64}$")
        self.assertEqual(other.weights, "owlv2@" + other.digest[:12])
        with torch.no_grad():
            next(other._model.parameters()).add_(1)
        self.assertNotIn(d._digest(other._model)[:12], self.detector.weights)

    def test_boxes_of_a_wide_picture(self):
        # A picture of 2:1 fills the upper half of the square.
        boxes = np.array([[0.5, 0.25, 1, 0.5], [0.5, 0.75, 0.2, 0.2]], dtype=np.float32)
        np.testing.assert_allclose(d._corners(boxes, 200, 100), [[0, 0, 1, 1], [0.4, 1, 0.6, 1]], atol=1e-6)

    def test_one_object_is_reported_once(self):
        corners = np.array([[0, 0, 0.5, 0.5], [0, 0, 0.5, 0.45], [0.5, 0.5, 1, 1], [0, 0, 0.5, 0.5], [0, 1, 1, 1]])
        kept = d._distinct(corners, np.array([0, 0, 0, 1, 0]))
        self.assertEqual(kept, [0, 2, 3], "another place, or another term, is another object")

    def test_other_terms_do_not_matter(self):
        def of(term, terms):
            out = self.detector.detect([jpeg(64, 64)], terms)
            mine = out["TERM_INDEX"] == terms.index(term)
            return np.column_stack([out["SCORES"][mine], out["BOXES"][mine]])

        alone = of("woman", ["woman"])
        self.assertGreater(len(alone), 1)
        among = of("woman", ["person", "woman", "man", "dog"])
        # Sums over other shapes are rounded differently.
        np.testing.assert_allclose(among, alone, atol=1e-5)

    def test_weak_detections_are_not_reported(self):
        frames, terms = [jpeg(64, 64)], ["dog", "cat"]
        every = self.detector.detect(frames, terms)["SCORES"]
        least = float(np.median(every))
        strict = d.Detector(TINY, device="cpu", threshold=least)
        self.addCleanup(strict.close)
        np.testing.assert_allclose(strict.detect(frames, terms)["SCORES"], every[every >= least], atol=1e-6)


class Tensor:
    """A tensor as Triton passes it to a model and back."""

    def __init__(self, name, values):
        self.name, self.values = name, values

    def as_numpy(self):
        return self.values


class TritonTest(unittest.TestCase):
    def setUp(self):
        utils = types.ModuleType("triton_python_backend_utils")
        utils.Tensor = Tensor
        utils.TritonModelException = RuntimeError
        utils.TritonError = mock.Mock(side_effect=lambda text, code: (text, code), INVALID_ARG=3, UNAVAILABLE=4, CANCELLED=5)
        utils.InferenceResponse = lambda output_tensors, error=None: (output_tensors, error)
        utils.get_input_tensor_by_name = lambda request, name: request.inputs.get(name)
        with mock.patch.dict(sys.modules, {"triton_python_backend_utils": utils}):
            sys.modules.pop("model", None)
            import model
        self.model = model.TritonPythonModel()

    def start(self, **told):
        parameters = {"source": TINY, "threshold": "0", "batch": "4"} | told
        config = {"parameters": {n: {"string_value": v} for n, v in parameters.items()}}
        self.model.initialize(
            {"model_config": json.dumps(config), "model_instance_kind": "CPU", "model_instance_device_id": "0"}
        )
        self.addCleanup(self.model.finalize)

    def ask(self, frame, *outputs, cancelled=False):
        inputs = {"FRAMES": np.array([frame], dtype=object), "TERMS": np.array([b"dog"], dtype=object)}
        request = mock.Mock(inputs={n: Tensor(n, v) for n, v in inputs.items()})
        request.requested_output_names.return_value = list(outputs)
        request.is_cancelled.return_value = cancelled
        return self.model.execute([request])[0]

    def test_answers(self):
        with self.assertRaisesRegex(RuntimeError, r"model is owlv2@\w{12}, digest is \w{64}") as refused:
            self.start(model="owlv2@other", digest="unset")
        true = dict(re.findall(r"(\w+) is (\S+?)(?:,|$)", str(refused.exception)))
        with mock.patch.dict(os.environ, NVIDIA_TRITON_SERVER_VERSION="25.06"):
            with self.assertRaisesRegex(RuntimeError, "^set the parameters of config.pbtxt: worker is triton/25.06$"):
                self.start(**true, worker="triton/24.01")
            self.start(**true, worker="triton/25.06")
        tensors, error = self.ask(jpeg(64, 64), "SCORES", "KEYPOINTS")
        self.assertIsNone(error)
        self.assertEqual(sorted(t.name for t in tensors), ["KEYPOINTS", "SCORES"], "only the requested outputs")
        tensors, (text, code) = self.ask(b"hello", "SCORES")
        self.assertEqual((tensors, code), ([], 3))
        self.assertIn("frame 0 is not a JPEG picture", text)
        tensors, (_, code) = self.ask(jpeg(64, 64), "SCORES", cancelled=True)
        self.assertEqual((tensors, code), ([], 5))


if __name__ == "__main__":
    unittest.main()
