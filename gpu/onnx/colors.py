"""Colors inside boxes: the rules and limits of gpu/worker/src/colors.js, which explains them. A test
compares both on frames of real clips. A change of one is a change of the other."""

import numpy as np

COLORS = ("black", "white", "red", "green", "yellow", "blue", "brown", "orange", "pink", "purple", "gray")
QUARTERS = 4
COLUMNS = COLORS + tuple(f"{name}/{q + 1}" for q in range(QUARTERS) for name in COLORS)

# Width and height of a sampled part as shares of its box, and the pixels along each.
CORE, QUARTER, AROUND = (0.7, 0.7, 32, 32), (0.5, 0.9, 24, 16), (1.4, 1.4, 32, 32)
MIN_AROUND, MIN_WEIGHT = 60, 0.08
BIN_BITS, TABLE_BITS = 3, 6
WHITE_SHARE, DARKEST_WHITE, USUAL_WHITE, WHITE_STEP = 0.92, 55, 95, 8


def _above(value, low, high):
    return np.clip((value - low) / (high - low), 0, 1)


def _lab(rgb):
    """Converts sRGB, 0..1, to CIE Lab with the white of D65."""
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = linear @ np.array([[0.4124564, 0.2126729, 0.0193339], [0.3575761, 0.7151522, 0.119192], [0.1804375, 0.072175, 0.9503041]])
    xyz /= [0.950456, 1, 1.088754]
    x, y, z = np.where(xyz > 216 / 24389, np.cbrt(xyz), (24389 / 27 * xyz + 16) / 116).T
    return 116 * y - 16, 500 * (x - y), 200 * (y - z)


def _table():
    """The lightness of each color of TABLE_BITS bits, how much it lacks chroma, and its memberships
    in COLORS. Those in white and gray depend on the scene, too, and are 0."""
    levels = (np.arange(1 << TABLE_BITS) + 0.5) * (1 << (8 - TABLE_BITS)) / 255
    lightness, a, b = _lab(np.stack(np.meshgrid(levels, levels, levels, indexing="ij"), -1).reshape(-1, 3))
    chroma, angle = np.hypot(a, b), np.degrees(np.arctan2(b, a)) % 360

    def hue(low, high):
        off = np.abs((angle - (low + high) / 2 + 540) % 360 - 180) - (high - low) / 2
        return 1 - _above(off, 0, 10)

    def light(low, high):
        return _above(lightness, low, high)

    def pure(low, high):
        return _above(chroma, low, high)

    tinted, lit = pure(7, 16), light(8, 18)
    memberships = {
        "black": (1 - light(22, 34)) * (1 - 0.8 * pure(18, 34)),
        "red": hue(0, 43) * pure(9, 20) * light(6, 14) * (1 - light(66, 78)),
        "green": hue(112, 192) * tinted * lit,
        "yellow": hue(80, 112) * pure(10, 24) * light(28, 46),
        "blue": hue(220, 305) * tinted * lit,
        "brown": hue(40, 82) * tinted * lit * (1 - light(50, 62)) * (1 - pure(50, 65)),
        "orange": hue(44, 78) * pure(10, 24) * light(28, 42),
        "pink": np.maximum(hue(335, 370), hue(-5, 30) * light(55, 68)) * tinted * light(40, 55),
        "purple": hue(305, 345) * tinted * lit,
    }
    none = np.zeros_like(lightness)
    return lightness, 1 - pure(9, 18), np.stack([memberships.get(name, none) for name in COLORS], 1)


LIGHTNESS, COLORLESS, MEMBERSHIPS = _table()


def _cells(pixels, bits):
    """The number of each pixel's color when red, green and blue have so many bits."""
    high = pixels.astype(np.intp) >> (8 - bits)
    return (high[..., 0] << (2 * bits)) | (high[..., 1] << bits) | high[..., 2]


def shares(picture, boxes, bodies):
    """Returns how much of each box has each of COLUMNS, 0..1, [boxes, columns]. Boxes are shares of
    the frame. bodies says which of them show people, whose quarters are not 0."""
    white = _white(picture)
    out = np.zeros((len(boxes), len(COLUMNS)), np.float32)
    for row, box, body in zip(out, boxes.astype(float), bodies):
        around = _sample(picture, box, AROUND, box)
        around = _bins(around) if len(around) >= MIN_AROUND else None
        parts = [(box, CORE)]
        if body:
            edges = box[1] + np.arange(QUARTERS + 1) * (box[3] - box[1]) / QUARTERS
            parts += [((box[0], top, box[2], bottom), QUARTER) for top, bottom in zip(edges, edges[1:])]
        for i, (part, grid) in enumerate(parts):
            row[i * len(COLORS) : (i + 1) * len(COLORS)] = _weigh(_sample(picture, part, grid), around, white)
    return out


def _white(picture):
    """The lightness of the scene's white, 55..100."""
    lightness = LIGHTNESS[_cells(picture[::WHITE_STEP, ::WHITE_STEP], TABLE_BITS)].ravel()
    below = np.cumsum(np.bincount(np.floor(lightness * 2.55 + 0.5).astype(int)))
    level = np.searchsorted(below, WHITE_SHARE * (lightness.size - 1), side="right")
    return max(DARKEST_WHITE, level / 2.55)


def _weigh(pixels, around, white):
    cells, colors = _cells(pixels, TABLE_BITS), _cells(pixels, BIN_BITS)
    weights = np.ones(len(pixels))
    if around is not None:
        inside = _bins(pixels)
        rarer = (inside[colors] / (inside[colors] + around[colors])) ** 2
        weights = rarer if rarer.mean() >= MIN_WEIGHT else weights
    found = MEMBERSHIPS[cells].copy()
    lightness = LIGHTNESS[cells]
    found[:, COLORS.index("white")] = COLORLESS[cells] * _above(np.minimum(100, lightness * USUAL_WHITE / white), 62, 80)
    found[:, COLORS.index("gray")] = (
        COLORLESS[cells] * _above(lightness, 20, 32) * (1 - _above(np.minimum(100, lightness * USUAL_WHITE / white), 78, 92))
    )
    return np.minimum(1, weights @ found / weights.sum())


def _bins(pixels):
    return np.bincount(_cells(pixels, BIN_BITS), minlength=1 << (3 * BIN_BITS)) / len(pixels)


def _sample(picture, box, grid, skipped=(0, 0, 0, 0)):
    """Pixels of a part of a box, cut off at the frame, without those in another box."""
    height, width = picture.shape[:2]
    x = _places(box[0], box[2], grid[0], grid[2])
    y = _places(box[1], box[3], grid[1], grid[3])
    pixels = picture[np.minimum(height - 1, (y * height).astype(int))][:, np.minimum(width - 1, (x * width).astype(int))]
    beside = (y >= skipped[1]) & (y < skipped[3])
    return pixels[~(beside[:, None] & ((x >= skipped[0]) & (x < skipped[2]))[None])]


def _places(low, high, share, count):
    middle, reach = (low + high) / 2, (high - low) * share / 2
    start, end = max(0, middle - reach), min(1, middle + reach)
    return start + (np.arange(count) + 0.5) * (end - start) / count
