"""The model `detect` (gpu/oip/doc.go) made from OWLv2, an open-vocabulary
detector.

It does not depend on Triton or another server: JPEG files and terms go in, the output
tensors come out. Every term that fits into the text encoder is known.
"""

import hashlib
import io
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from PIL import Image
from transformers import AutoTokenizer, Owlv2ForObjectDetection
from transformers.image_utils import OPENAI_CLIP_MEAN, OPENAI_CLIP_STD

# Bounds of one request. They agree with gpu.MaxFrames and the decoder of oip.
MAX_FRAMES = 64
MAX_TERMS = 1000
MAX_PIXELS = 64_000_000
# Largest number of detections of one frame, and of one term in it, best first. Those of 64
# frames fit into a response.
MAX_DETECTIONS = 1000
MAX_OF_A_TERM = 100
# Two boxes of one term that overlap more than this are one object.
SAME_OBJECT_IOU = 0.6
# A smaller part of a picture is not an object, but the edge of one in the padding.
MIN_AREA = 1e-6
# Number of rows and columns for the brightness, and the step of the brightness.
CELLS = 32
SHADE = 8
# The sentence around a term with which the model was trained.
PROMPT = "a photo of a {}"
# Number of term sets whose embeddings are kept. All requests for a video have the same terms.
KEPT_TERM_SETS = 64


class InvalidRequest(ValueError):
    """The request is invalid for every server."""


class Detector:
    """OWLv2 on one device. Only begin() may be called concurrently."""

    def __init__(self, source, revision=None, device=None, threshold=0.1, batch=16, threads=4):
        """Loads weights from a local folder or a model hub.

        threshold is the least reported raw score, 0..1. batch is the number of frames that
        the device processes at once. threads is the number of threads that decode JPEG files.
        """
        self.device = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
        self.threshold = float(threshold)
        self.batch = int(batch)
        self._tokenizer = AutoTokenizer.from_pretrained(source, revision=revision)
        self._model = Owlv2ForObjectDetection.from_pretrained(source, revision=revision, dtype=torch.float32)
        self._model = self._model.eval().to(self.device)
        config = self._model.config
        self.digest = _digest(self._model)
        self.weights = f"{config.model_type}@{self.digest[:12]}"
        self._size = config.vision_config.image_size
        self._tokens = config.text_config.max_position_embeddings
        self._mean = torch.tensor(OPENAI_CLIP_MEAN, device=self.device).view(1, 3, 1, 1)
        self._std = torch.tensor(OPENAI_CLIP_STD, device=self.device).view(1, 3, 1, 1)
        self._kept = OrderedDict()
        self._decoders = ThreadPoolExecutor(max_workers=max(1, int(threads)), thread_name_prefix="jpeg")
        self._warm()

    def _warm(self):
        """Runs one empty batch. The first batch of a GPU takes seconds, for which no client should wait."""
        file = io.BytesIO()
        Image.new("RGB", (64, 64)).save(file, "JPEG")
        self.detect([file.getvalue()] * (min(self.batch, MAX_FRAMES) if self.device.type == "cuda" else 1), ["nothing"])

    def close(self):
        self._decoders.shutdown()

    def detect(self, frames, terms, want_pose=False):
        """Detects the terms in JPEG files (bytes each); returns the output tensors by name.

        Raises InvalidRequest for no or too many frames or terms, and for a frame that is not a JPEG.
        """
        return self.finish(self.begin(frames, terms), want_pose)

    def begin(self, frames, terms):
        """Begins to decode, before the device is free; returns the argument of finish(). It may be
        called while another request is processed. Raises InvalidRequest as detect() does."""
        if not 1 <= len(frames) <= MAX_FRAMES:
            raise InvalidRequest(f"{len(frames)} frames, must be 1 to {MAX_FRAMES}")
        if not 1 <= len(terms) <= MAX_TERMS:
            raise InvalidRequest(f"{len(terms)} terms, must be 1 to {MAX_TERMS}")
        return tuple(terms), len(frames), self._decoders.map(_decode, range(len(frames)), frames)

    @torch.inference_mode()
    def finish(self, begun, want_pose=False):
        """Returns the output tensors of a begun request. Raises InvalidRequest for a frame that is not a JPEG."""
        terms, count, pictures = begun
        known, indices, queries = self._embed(terms)
        rows, shades = [], []
        if indices:
            for first in range(0, count, self.batch):
                chunk = [next(pictures) for _ in range(min(self.batch, count - first))]
                shades += [_shades(picture) for picture in chunk]
                rows += self._batch(first, chunk, indices, queries)
        else:
            shades = [_shades(picture) for picture in pictures]  # invalid frames must still be refused
        return _tensors(rows, known, shades, want_pose)

    def _embed(self, terms):
        """Returns which terms fit into the text encoder, with their indices and embeddings."""
        if terms in self._kept:
            self._kept.move_to_end(terms)
            return self._kept[terms]
        sentences = [PROMPT.format(term) for term in terms]
        lengths = [len(ids) for ids in self._tokenizer(sentences, verbose=False)["input_ids"]]
        known = [n <= self._tokens for n in lengths]
        indices = [i for i, fits in enumerate(known) if fits]
        queries = None
        if indices:
            text = self._tokenizer(
                [sentences[i] for i in indices], padding="max_length", max_length=self._tokens, return_tensors="pt"
            ).to(self.device)
            pooled = self._model.owlv2.text_model(**text).pooler_output
            queries = self._model.owlv2.text_projection(pooled)
        self._kept[terms] = known, indices, queries
        if len(self._kept) > KEPT_TERM_SETS:
            self._kept.popitem(last=False)
        return self._kept[terms]

    def _batch(self, first, pictures, indices, queries):
        """Returns the detections of a batch of pictures: rows of frame, term, score and box."""
        pixels = torch.cat([self._prepare(picture) for picture in pictures])
        # The encoder is nearly all of the work. The heads run in full precision, which boxes need.
        with torch.autocast(self.device.type, torch.float16, enabled=self.device.type == "cuda"):
            features, _ = self._model.image_embedder(pixels)
        features = features.float()
        count = features.shape[0]
        flat = features.reshape(count, -1, features.shape[-1])
        logits, _ = self._model.class_predictor(flat, queries.expand(count, -1, -1))
        boxes = self._model.box_predictor(flat, features)
        # A term must not hide another at the same place ("person", "woman"): the detections of
        # one term do not depend on the other terms.
        best = logits.sigmoid().topk(min(4 * MAX_OF_A_TERM, logits.shape[1]), dim=1)
        chosen = best.indices.reshape(count, -1)
        boxes = boxes.gather(1, chosen.unsqueeze(-1).expand(-1, -1, 4)).cpu().numpy()
        scores = best.values.reshape(count, -1).cpu().numpy()
        terms = np.arange(chosen.shape[1]) % logits.shape[2]
        rows = []
        for i, picture in enumerate(pictures):
            order = np.argsort(-scores[i], kind="stable")
            order = order[scores[i][order] >= self.threshold]
            corners = _corners(boxes[i][order], picture.shape[1], picture.shape[0])
            for j in _distinct(corners, terms[order]):
                rows.append((first + i, indices[terms[order[j]]], scores[i][order[j]], corners[j]))
        return rows

    def _prepare(self, picture):
        """Pads a picture to a square at its right or bottom, as OWLv2 was trained, and resizes it."""
        pixels = torch.from_numpy(picture).to(self.device).permute(2, 0, 1).unsqueeze(0).float() / 255
        height, width = picture.shape[:2]
        side = max(height, width)
        pixels = torch.nn.functional.pad(pixels, (0, side - width, 0, side - height), value=0.5)
        pixels = torch.nn.functional.interpolate(
            pixels, size=(self._size, self._size), mode="bilinear", align_corners=False, antialias=True
        )
        return (pixels - self._mean) / self._std


def _digest(model):
    """A digest of the weights, independent of where they were loaded from."""
    digest = hashlib.sha256()
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        digest.update(tensor.detach().cpu().contiguous().numpy().tobytes())
    return digest.hexdigest()


def _decode(index, jpeg):
    try:
        with Image.open(io.BytesIO(jpeg), formats=["JPEG"]) as image:
            if image.width * image.height > MAX_PIXELS:
                raise InvalidRequest(f"frame {index} has more than {MAX_PIXELS} pixels")
            return np.array(image.convert("RGB"))
    except InvalidRequest:
        raise
    except Exception as error:  # any error of the decoder is an error of the input
        raise InvalidRequest(f"frame {index} is not a JPEG picture: {error}") from error


def _shades(picture):
    """Brightness of the parts of a picture, 0 (black) to 31 (white)."""
    gray = Image.fromarray(picture).convert("L").resize((CELLS, CELLS), Image.Resampling.BOX)
    return np.asarray(gray) // SHADE


def _corners(boxes, width, height):
    """Turns centers and sizes in the padded square into corners in the picture, 0..1."""
    side = max(width, height)
    corners = np.concatenate([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2], axis=1)
    scale = np.array([side / width, side / height] * 2, dtype=np.float32)
    return np.clip(corners * scale, 0, 1)


def _distinct(corners, terms):
    """Returns the indices of the detections to report, best first. The others show an object
    again or lie in the padding."""
    area = (corners[:, 2] - corners[:, 0]) * (corners[:, 3] - corners[:, 1])
    kept = []
    of_term = {}
    for i in range(len(terms)):
        if len(kept) == MAX_DETECTIONS:
            break
        same = of_term.setdefault(int(terms[i]), [])
        if area[i] < MIN_AREA or len(same) == MAX_OF_A_TERM:
            continue
        low = np.maximum(corners[same, :2], corners[i, :2])
        high = np.minimum(corners[same, 2:], corners[i, 2:])
        shared = np.prod(np.clip(high - low, 0, None), axis=1)
        if np.all(shared <= SAME_OBJECT_IOU * (area[same] + area[i] - shared)):
            kept.append(i)
            same.append(i)
    return kept


def _tensors(rows, known, shades, want_pose):
    tensors = {
        "BOXES": np.array([row[3] for row in rows], dtype=np.float32).reshape(-1, 4),
        "SCORES": np.array([row[2] for row in rows], dtype=np.float32),
        "TERM_INDEX": np.array([row[1] for row in rows], dtype=np.int32),
        "FRAME_INDEX": np.array([row[0] for row in rows], dtype=np.int32),
        "KNOWN_TERMS": np.array(known, dtype=bool),
        "SHADES": np.array(shades, dtype=np.uint8),
    }
    if want_pose:
        # Scores of 0 mean that no pose was estimated: this model has no poses.
        tensors["KEYPOINTS"] = np.zeros((len(rows), 17, 3), dtype=np.float32)
    return tensors
