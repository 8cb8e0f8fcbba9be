"""Turns the outputs of a model into detections. Each way to decode gives the boxes of places on
the paper and the score of each class there; select() chooses among them."""

import numpy as np

from manifest import ManifestError


def softmax(logits):
    logits = logits - logits.max(-1, keepdims=True)
    powers = np.exp(logits)
    return powers / powers.sum(-1, keepdims=True)


def sigmoid(logits):
    # Beyond 80 a float32 overflows, and the result is 0 or 1 anyway.
    return 1 / (1 + np.exp(-np.clip(logits, -80, 80)))


def _activate(scores, rules):
    if rules.activation == "softmax":
        return softmax(scores)[..., :-1]  # the last class is "no object"
    return sigmoid(scores) if rules.activation == "sigmoid" else scores


def _corners(boxes, rules, paper):
    if rules.boxes == "center":
        boxes = np.concatenate([boxes[:, :2] - boxes[:, 2:] / 2, boxes[:, :2] + boxes[:, 2:] / 2], 1)
    return boxes * np.array(paper * 2, np.float32) if rules.units == "share" else boxes


def centernet(outputs, rules, paper):
    """scores [classes, rows, columns] have a peak in the middle of each object; reach [4, rows,
    columns] is how far its box reaches left, up, right and down, in pixels."""
    scores, reach = outputs
    classes, rows, columns = scores.shape
    # Only the few cells above the limit are compared with their neighbors.
    cls, y, x = np.unravel_index(np.flatnonzero(scores >= rules.least), scores.shape)
    padded = np.pad(scores, ((0, 0), (1, 1), (1, 1)), constant_values=-1)
    around = [padded[cls, y + dy, x + dx] for dy in range(3) for dx in range(3)]
    peak = np.max(around, 0, initial=-1) <= scores[cls, y, x]
    cls, y, x = cls[peak], y[peak], x[peak]
    left, up, right, down = reach[:, y, x]
    boxes = np.stack([x * rules.cell - left, y * rules.cell - up, x * rules.cell + right, y * rules.cell + down], 1)
    return boxes, scores[cls, y, x], cls, y * columns + x


def detr(outputs, rules, paper):
    """logits [places, classes] and boxes [places, 4]."""
    logits, boxes = outputs
    return _pairs(_activate(logits, rules), _corners(boxes, rules, paper), rules)


def yolo(outputs, rules, paper):
    """places [4 + classes, places], or transposed [places, 4 + classes]."""
    rows = outputs[0] if rules.transposed else outputs[0].T
    return _pairs(_activate(rows[:, 4:], rules), _corners(rows[:, :4], rules, paper), rules)


def _pairs(scores, boxes, rules):
    place, cls = np.nonzero(scores >= rules.least)
    return boxes[place], scores[place, cls], cls, place


WAYS = {"centernet": centernet, "detr": detr, "yolo": yolo}


def classes_of(outputs, rules):
    """Returns the number of classes in the outputs for one frame. Raises ManifestError for
    outputs of another shape."""
    dimensions = {"centernet": (3, 3), "detr": (2, 2), "yolo": (2,)}[rules.decode]
    shapes = [o.shape for o in outputs]
    boxes = {"centernet": lambda: shapes[1][0], "detr": lambda: shapes[1][1], "yolo": lambda: 4}[rules.decode]
    if tuple(map(len, shapes)) != dimensions or boxes() != 4:
        raise ManifestError(f"output: {rules.decode} does not fit outputs of the shapes {shapes} for each frame")
    if rules.decode == "centernet":
        return shapes[0][0]
    count = shapes[0][1] if rules.decode == "detr" else shapes[0][1 if rules.transposed else 0] - 4
    return count - 1 if rules.activation == "softmax" else count


def select(outputs, rules, placement, wanted):
    """Returns the boxes (shares of the frame), scores and classes of one frame, best score
    first. wanted is a set of classes."""
    boxes, scores, classes, places = WAYS[rules.decode](outputs, rules, placement.paper)
    order = np.lexsort((places, -scores))[: rules.most]
    order = order[np.isin(classes[order], list(wanted))]
    return distinct(placement.to_frame(boxes[order]), np.clip(scores[order], 0, 1), classes[order], rules)


def distinct(boxes, scores, classes, rules):
    """Returns one box for each object, best score first. The rules are those of
    gpu/worker/src/boxes.js."""
    order = np.argsort(-scores, kind="stable")
    order = order[(boxes[order, 2] > boxes[order, 0]) & (boxes[order, 3] > boxes[order, 1])]
    kept = []
    for i in order:
        rivals = [j for j in kept if classes[j] == classes[i]]
        if not rivals or not _same(boxes[rivals], boxes[i], rules).any():
            kept.append(i)
    return boxes[kept], scores[kept], classes[kept]


def _same(others, box, rules):
    """Reports which of the boxes show the object of another box of their class."""
    size = np.clip(np.minimum(others[:, 2:], box[2:]) - np.maximum(others[:, :2], box[:2]), 0, None)
    shared = size[:, 0] * size[:, 1]
    areas = (others[:, 2] - others[:, 0]) * (others[:, 3] - others[:, 1])
    area = (box[2] - box[0]) * (box[3] - box[1])
    return (shared > rules.overlap * (areas + area - shared)) | (shared > rules.inside * np.minimum(areas, area))
