"""Pixels: turns a frame into the input of a model."""

import io
from dataclasses import dataclass

import numpy as np
from PIL import Image

from protocol import ProtocolError

MAX_SIDE = 4096
# Rows and columns for the brightness, sampled pixels along one side of a part, and the step.
# The rules are those of gpu/worker/src/shades.js.
CELLS, POINTS, STEP = 32, 6, 8


@dataclass
class Placement:
    """Where a frame lies on the paper, which is the input of a model. In pixels."""

    x: int
    y: int
    width: int
    height: int
    paper: tuple  # width, height

    def to_frame(self, boxes):
        """Turns x1 y1 x2 y2 on the paper into shares of the frame, 0..1."""
        origin = np.array([self.x, self.y] * 2, np.float32)
        size = np.array([self.width, self.height] * 2, np.float32)
        return np.clip((boxes - origin) / size, 0, 1)


def decode(index, jpeg):
    """Returns the pixels of a JPEG, [height, width, 3]."""
    try:
        with Image.open(io.BytesIO(jpeg), formats=["JPEG"]) as image:
            if max(image.size) > MAX_SIDE:
                raise ProtocolError(400, f"frame {index}: a side has more than {MAX_SIDE} pixels")
            return np.asarray(image.convert("RGB"))
    except ProtocolError:
        raise
    except Exception as error:  # any error of the decoder is an error of the input
        raise ProtocolError(400, f"frame {index} is not a JPEG picture: {error}") from error


def prepare(picture, rules):
    """Puts a frame on paper by the rules of a manifest (manifest.Input). Returns the input of
    the model without its first dimension, and the placement."""
    place = _place(picture.shape[1], picture.shape[0], rules)
    if (place.height, place.width) != picture.shape[:2]:
        picture = _resize(picture, place.width, place.height)
    paper = np.full((place.paper[1], place.paper[0], 3), rules.pad, np.uint8)
    paper[place.y : place.y + place.height, place.x : place.x + place.width] = picture
    return _values(paper, rules), place


def _resize(picture, width, height):
    if width > picture.shape[1] or height > picture.shape[0]:
        return np.asarray(Image.fromarray(picture).resize((width, height), Image.Resampling.BILINEAR))
    # Averages areas of whole pixels, as gpu/worker/src/image.js does: with another way the scores
    # change by up to .2.
    starts = [np.arange(side) * full // side for side, full in zip((height, width), picture.shape)]
    rows, columns = (np.diff(start, append=full) for start, full in zip(starts, picture.shape))
    sums = np.add.reduceat(np.add.reduceat(picture, starts[0], 0, np.uint32), starts[1], 1)
    return np.floor(sums / np.outer(rows, columns)[:, :, None] + 0.5).astype(np.uint8)


def _place(width, height, rules):
    limit = rules.size or [rules.longest, rules.longest]
    scale = min(limit[0] / width, limit[1] / height)
    if not rules.enlarge:
        scale = min(scale, 1)
    if rules.fit == "stretch" and rules.size:
        width, height = rules.size
    else:
        width, height = (max(1, int(side * scale + 0.5)) for side in (width, height))
    strips = (rules.strip, 0) if width < height else (0, rules.strip)
    paper = rules.size or [
        min(rules.longest, -(-(side + strip) // rules.step) * rules.step) for side, strip in zip((width, height), strips)
    ]
    x, y = ((paper[0] - width) // 2, (paper[1] - height) // 2) if rules.fit == "center" else (0, 0)
    return Placement(x, y, width, height, tuple(paper))


def _values(pixels, rules):
    if rules.colors == "BGR":
        pixels = pixels[:, :, ::-1]
    layout, spread = ((2, 0, 1), (3, 1, 1)) if rules.layout == "NCHW" else ((0, 1, 2), (1, 1, 3))
    values = np.ascontiguousarray(pixels.transpose(layout)).astype(np.float32)
    std = np.array(rules.std, np.float32).reshape(spread)
    values *= np.float32(rules.white / 255) / std
    values -= np.array(rules.mean, np.float32).reshape(spread) / std
    return values


def crop(picture, square, rules):
    """Cuts a square (x, y, side in pixels) out of a frame and scales it bilinearly. It may reach
    beyond the frame. Returns the input of a model as prepare() does."""
    x, y, side = square
    at = (np.arange(rules.size[0]) + 0.5) * (side / rules.size[0]) - 0.5
    return _values(_between(picture, (x + at)[None], (y + at)[:, None], rules.pad), rules)


def turn(picture, degrees):
    """Turns a picture clockwise around its center. Corners are cut off."""
    height, width = picture.shape[:2]
    x, y = _turned(np.arange(width)[None] + 0.5, np.arange(height)[:, None] + 0.5, width, height, -degrees)
    return _between(picture, x - 0.5, y - 0.5, 0)


def turn_back(boxes, picture, degrees):
    """Returns boxes of the same size around the same points of the upright picture."""
    height, width = picture.shape[:2]
    half = (boxes[:, 2:] - boxes[:, :2]) / 2
    middle = (boxes[:, :2] + boxes[:, 2:]) / 2 * [width, height]
    middle = np.stack(_turned(middle[:, 0], middle[:, 1], width, height, -degrees), 1) / [width, height]
    return np.clip(np.concatenate([middle - half, middle + half], 1), 0, 1)


def _turned(x, y, width, height, degrees):
    cos, sin = np.cos(degrees * np.pi / 180), np.sin(degrees * np.pi / 180)
    dx, dy = x - width / 2, y - height / 2
    return width / 2 + cos * dx - sin * dy, height / 2 + sin * dx + cos * dy


def _between(picture, x, y, outside):
    """Reads pixels at places between others, bilinearly."""
    (x0, x1, fx, in_x), (y0, y1, fy, in_y) = _neighbors(x, picture.shape[1]), _neighbors(y, picture.shape[0])
    fx, fy = fx[..., None], fy[..., None]
    upper = picture[y0, x0] * (1 - fx) + picture[y0, x1] * fx
    lower = picture[y1, x0] * (1 - fx) + picture[y1, x1] * fx
    pixels = np.floor(upper * (1 - fy) + lower * fy + 0.5).astype(np.uint8)
    pixels[~(in_y & in_x)] = outside
    return pixels


def _neighbors(at, length):
    low = np.clip(np.floor(at), 0, length - 1).astype(int)
    return low, np.minimum(length - 1, low + 1), np.clip(at - low, 0, 1), (at >= -0.5) & (at <= length - 0.5)


def shades(picture):
    """Returns the brightness of the parts of a frame, 0 (black) to 31 (white)."""
    rows, columns = (((np.arange(CELLS * POINTS) + 0.5) * side / (CELLS * POINTS)).astype(int) for side in picture.shape[:2])
    gray = picture[rows][:, columns].astype(np.uint32) @ np.array([77, 150, 29], np.uint32)
    sums = gray.reshape(CELLS, POINTS, CELLS, POINTS).sum((1, 3))
    return (sums // (POINTS * POINTS * 256 * STEP)).astype(np.uint8)
