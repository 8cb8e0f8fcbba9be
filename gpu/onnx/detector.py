"""The model `detect` (gpu/oip/doc.go) made from an ONNX model and its manifest, and from a second
one for poses. Tensors of a request go in, the output tensors come out."""

import asyncio
import hashlib
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

import colors
import decode
import pictures
import poses
from batches import Batcher
from manifest import ManifestError
from protocol import ProtocolError
from session import Session, one_line
from terms import Encoder

# Bounds of a request, as in gpu/worker/src/detect.js.
MAX_FRAMES, MAX_TERMS = 64, 256
PERSON = "person"
# Degrees by which a frame is turned for a second look, as in gpu/worker/src/rotate.js.
ANGLES = (-8, 8, 180)
# The outputs with a row for each detection or frame, with their types and the rest of their shape.
OUTPUTS = {
    "BOXES": ("FP32", [4]),
    "SCORES": ("FP32", []),
    "TERM_INDEX": ("INT32", []),
    "FRAME_INDEX": ("INT32", []),
    "KEYPOINTS": ("FP32", [poses.JOINTS, 3]),
    "COLORS": ("FP32", [len(colors.COLUMNS)]),
    "KNOWN_TERMS": ("BOOL", []),
    "SHADES": ("UINT8", [pictures.CELLS, pictures.CELLS]),
}
# These are sent only when requested by name.
EXTRA = {"COLORS", "SHADES"}


@dataclass
class Asked:
    """What is asked about the frames of a request."""

    classes: dict  # the term of each class that is asked for, as indices
    person: int  # the class of people, or -1
    queries: Any  # the encoded terms of an open model
    turned: bool  # look at turned views, too
    outputs: set


class Detector:
    """Serves requests concurrently. Needs a running event loop."""

    def __init__(self, manifest, model, pose, options):
        """model holds the bytes of the ONNX model. pose is another pair of manifest and bytes, or
        None. options are those of serve.py. Raises ManifestError."""
        if manifest.output.decode == "movenet" or pose and pose[0].output.decode != "movenet":
            raise ManifestError("output.decode: movenet is for --pose, and --pose for movenet")
        self._rules = manifest
        self._terms = Encoder(manifest.terms) if manifest.terms else None
        self._session = Session(manifest, model, options)
        self._pose = poses.Estimator(Session(*pose, options), pose[0]) if pose else None
        self.digest = hashlib.sha256(model + (pose[1] if pose else b"")).hexdigest()
        self.batch = max(self._session.sizes)
        self._warm()
        wait_s = options.wait_ms / 1000
        self._frames = Batcher(self._session.run, self._session.sizes, wait_s)
        self._people = Batcher(self._pose.session.run, self._pose.session.sizes, wait_s) if pose else None
        self._capacity, self._accepted = options.queue, 0  # frames
        self._pool = ThreadPoolExecutor(os.cpu_count() or 4, "pictures")
        self._loop = asyncio.get_running_loop()

    def _warm(self):
        """Runs each size of a batch once: the first run of a device takes seconds, for which no
        client should wait. Checks that the labels fit the outputs."""
        black = np.zeros((360, 640, 3), np.uint8)
        values, _ = pictures.prepare(black, self._rules.input)
        outputs = _run_all(self._session, values, self._terms.encode(("nothing",)) if self._terms else None)
        count = decode.classes_of(outputs, self._rules.output)
        if self._terms is None and count != len(self._rules.labels):
            raise ManifestError(f"labels: {len(self._rules.labels)} names, but the model has {count} classes")
        if self._pose:
            square, values = self._pose.prepare(black, np.array([0, 0, 1, 1]))
            self._pose.joints(_run_all(self._pose.session, values, None), square, black)

    async def close(self):
        for batcher in filter(None, (self._frames, self._people)):
            await batcher.close()
        self._pool.shutdown()

    @property
    def formed(self):
        """The number of batches of each size since the start."""
        return self._frames.formed

    @property
    def vocabulary(self):
        return [label for label in self._rules.labels if label]

    def admit(self, count):
        """Raises ProtocolError 429 when so many frames are over the bound. One request is always accepted."""
        if self._accepted and self._accepted + count > self._capacity:
            raise ProtocolError(429, "the server is busy")

    async def detect(self, request):
        """Returns the wanted outputs as (name, datatype, array). Raises ProtocolError."""
        names = self._wanted(request)
        terms = _terms(_input(request, "TERMS"))
        frames = _frames(_input(request, "FRAMES"))
        pose, turned = _flag(request, "WANT_POSE"), _flag(request, "WANT_ROTATIONS")
        known, classes, queries = self._classes(terms)
        person = next((cls for cls, term in classes.items() if terms[term] == PERSON), -1)
        asked = Asked(classes, person, queries, turned, names if pose else names - {"KEYPOINTS"})
        self.admit(len(frames))
        self._accepted += len(frames)
        try:
            # One group: an error of one frame cancels the others.
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._frame(i, frame, asked)) for i, frame in enumerate(frames)]
        except ExceptionGroup as failed:
            raise failed.exceptions[0]
        finally:
            self._accepted -= len(frames)
        values = _rows([task.result() for task in tasks], known)
        return [(name, kind, values[name]) for name, (kind, _) in OUTPUTS.items() if name in (request.outputs or asked.outputs)]

    def _wanted(self, request):
        if request.outputs is None:
            return OUTPUTS.keys() - EXTRA
        for name in request.outputs - OUTPUTS.keys():
            raise ProtocolError(400, f"unknown output {name}")
        return request.outputs

    def _classes(self, terms):
        """Returns whether the model knows each term, and the fields of Asked."""
        if self._terms:
            known = self._terms.known(terms)
            asked = tuple(term for term, fits in zip(terms, known) if fits)
            return known, {i: terms.index(term) for i, term in enumerate(asked)}, self._terms.encode(asked) if asked else None
        indices = {label: i for i, label in enumerate(self._rules.labels) if label}
        return [term in indices for term in terms], {indices[term]: i for i, term in enumerate(terms) if term in indices}, None

    async def _frame(self, index, frame, asked):
        """Returns the boxes, scores, terms, poses, colors and shades of a frame."""
        picture = await self._in_pool(pictures.decode, index, frame)
        boxes, scores, found = np.zeros((0, 4)), np.zeros(0), np.zeros(0, int)
        if asked.classes:
            angles = (0, *ANGLES) if asked.turned else (0,)
            views = await asyncio.gather(*(self._look(picture, degrees, asked) for degrees in angles))
            boxes, scores, found = views[0]
            if asked.turned:
                boxes, scores, found = decode.distinct(*map(np.concatenate, zip(*views)), self._rules.output)
        joints = np.zeros((len(scores), poses.JOINTS, 3), np.float32)
        if "KEYPOINTS" in asked.outputs and self._people:
            people = np.flatnonzero((found == asked.person) & (scores >= poses.MIN_PERSON_SCORE))[: poses.MAX_POSES]
            for i, pose in zip(people, await asyncio.gather(*(self._estimate(picture, boxes[i]) for i in people))):
                joints[i] = pose
        shares = np.zeros((len(scores), len(colors.COLUMNS)), np.float32)
        if "COLORS" in asked.outputs and len(scores):
            shares = await self._in_pool(colors.shares, picture, boxes, found == asked.person)
        shades = await self._in_pool(pictures.shades, picture) if "SHADES" in asked.outputs else np.zeros((pictures.CELLS, pictures.CELLS))
        return boxes, scores, [asked.classes[cls] for cls in found.tolist()], joints, shares, shades

    async def _look(self, picture, degrees, asked):
        """Returns what is found in a turned picture, in places of the upright one."""
        values, placement = await self._in_pool(self._view, picture, degrees)
        outputs = await self._frames.submit((values.shape, asked.queries), values)
        boxes, scores, found = await self._in_pool(decode.select, outputs, self._rules.output, placement, asked.classes)
        return pictures.turn_back(boxes, picture, degrees) if degrees else boxes, scores, found

    def _view(self, picture, degrees):
        return pictures.prepare(pictures.turn(picture, degrees) if degrees else picture, self._rules.input)

    async def _estimate(self, picture, box):
        square, values = await self._in_pool(self._pose.prepare, picture, box)
        maps = await self._people.submit((values.shape, None), values)
        return await self._in_pool(self._pose.joints, maps, square, picture)

    def _in_pool(self, work, *arguments):
        return self._loop.run_in_executor(self._pool, work, *arguments)


def _run_all(session, values, queries):
    """Runs each size of a batch, and returns the outputs for one of its inputs."""
    try:
        return [session.run((values.shape, queries), [values] * size)[0] for size in session.sizes][0]
    except Exception as error:
        raise ManifestError(f"input: the model refuses a picture: {one_line(error)}") from error


def _input(request, name):
    if name not in request.inputs:
        raise ProtocolError(400, f"input {name}: required")
    return request.inputs[name]


def _flag(request, name):
    return name in request.inputs and bool(request.inputs[name].array("BOOL").any())


def _terms(tensor):
    try:
        terms = tuple(value.decode() for value in tensor.elements())
    except UnicodeDecodeError as error:
        raise ProtocolError(400, f"input TERMS: {error}") from error
    if not 1 <= len(terms) <= MAX_TERMS:
        raise ProtocolError(400, f"input TERMS: 1 to {MAX_TERMS} terms")
    if len(set(terms)) != len(terms):
        raise ProtocolError(400, "input TERMS: a term occurs twice")
    return terms


def _frames(tensor):
    frames = tensor.elements()
    if not 1 <= len(frames) <= MAX_FRAMES:
        raise ProtocolError(400, f"input FRAMES: 1 to {MAX_FRAMES} frames")
    return frames


def _rows(frames, known):
    """Joins the results of all frames to output tensors."""
    boxes, scores, terms, joints, shares, shades = zip(*frames)
    return {
        "BOXES": np.concatenate(boxes),
        "SCORES": np.concatenate(scores),
        "TERM_INDEX": np.array(sum(terms, []), np.int32),
        "FRAME_INDEX": np.repeat(np.arange(len(frames), dtype=np.int32), [len(s) for s in scores]),
        "KEYPOINTS": np.concatenate(joints),
        "COLORS": np.concatenate(shares),
        "KNOWN_TERMS": np.array(known, bool),
        "SHADES": np.stack(shades).astype(np.uint8),
    }
