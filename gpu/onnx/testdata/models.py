"""Writes small models and their manifests into a folder. They find red and blue squares of 64
pixels, each in the form of a real kind of detector: centernet, yolo, single (a yolo that takes one
frame at a time), detr, and open, which reads terms: of "r" it finds red squares, of others blue ones."""

import hashlib
import json
import sys
from pathlib import Path

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

SIDE, STEP, WIDTH, HEIGHT = 64, 16, 320, 256
COUNT = (WIDTH // STEP) * (HEIGHT // STEP)
FLOAT, INT64 = TensorProto.FLOAT, TensorProto.INT64
LABELS = 'labels = ["red square", "blue square"]\n'
folder = Path(sys.argv[1])


def node(kind, inputs, output, **attributes):
    return helper.make_node(kind, inputs.split(), [output], **attributes)


def save(name, nodes, inputs, outputs, constants, text):
    graph = helper.make_graph(
        nodes, name,
        [helper.make_tensor_value_info(n, kind, shape) for n, (kind, shape) in inputs.items()],
        [helper.make_tensor_value_info(n, FLOAT, shape) for n, shape in outputs.items()],
        [numpy_helper.from_array(np.asarray(value), n) for n, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model, full_check=True)
    content = model.SerializeToString()
    (folder / f"{name}.onnx").write_bytes(content)
    head = f'weights = "{name}"\nlicense = "none"\nfile = "{name}.onnx"\nsha256 = "{hashlib.sha256(content).hexdigest()}"\n'
    (folder / f"{name}.toml").write_text(head + text)


def squares(step, white, red=0):
    """Nodes that turn "x" into "found" [frames, 2, rows, columns]: which share of the 64 pixels
    around each cell is red, and which is blue."""
    kernel = np.full((2, 3, 1, 1), -1 / white, np.float32)
    kernel[0, red] = kernel[1, 2 - red] = 1 / white
    half = SIDE // 2
    nodes = [
        node("Conv", "x kernel", "pure"),
        node("Clip", "pure zero one", "clear"),
        node(
            "AveragePool", "clear", "found", kernel_shape=[SIDE, SIDE], strides=[step, step],
            pads=[half, half, half - 1, half - 1], count_include_pad=1,
        ),
        node("Shape", "found", "found_shape"),
        node("Gather", "found_shape first", "batch"),
    ]
    return nodes, {"kernel": kernel, "zero": np.float32(0), "one": np.float32(1), "first": np.array([0])}


def listed(white=1, red=0):
    """The same for pictures of one size, as "rows" [frames, 2, COUNT], with the boxes around all
    cells [4, COUNT]: x and y of the middle, width and height in pixels."""
    nodes, constants = squares(STEP, white, red)
    y, x = np.mgrid[: HEIGHT // STEP, : WIDTH // STEP] * float(STEP)
    boxes = np.stack([x, y, np.full_like(x, SIDE), np.full_like(x, SIDE)]).reshape(4, COUNT).astype(np.float32)
    nodes += [node("Concat", "batch row_shape", "rows_shape", axis=0), node("Reshape", "found rows_shape", "rows")]
    return nodes, constants | {"row_shape": np.array([2, COUNT])}, boxes


def centernet():
    nodes, constants = squares(4, 255)
    nodes += [
        node("Identity", "found", "scores"),
        node("Gather", "found_shape sides", "size"),
        node("Concat", "batch four size", "reach_shape", axis=0),
        node("Expand", "half reach_shape", "reach"),
    ]
    constants |= {"sides": np.array([2, 3]), "four": np.array([4]), "half": np.full((1, 1, 1, 1), SIDE / 2, np.float32)}
    save(
        "centernet", nodes, {"x": (FLOAT, ["frames", 3, "height", "width"])},
        {"scores": ["frames", 2, "rows", "columns"], "reach": ["frames", 4, "rows", "columns"]}, constants,
        LABELS + """
[input]
name = "x"
longest = 320
step = 32
strip = 16
enlarge = false
white = 255

[output]
decode = "centernet"
names = ["scores", "reach"]
overlap = 0.45
""",
    )


def yolo(name, frames):
    nodes, constants, boxes = listed(red=2)  # the input is BGR
    nodes += [
        node("Concat", "batch box_shape", "boxes_shape", axis=0),
        node("Expand", "boxes boxes_shape", "everywhere"),
        node("Concat", "everywhere rows", "output0", axis=1),
    ]
    constants |= {"boxes": boxes[None], "box_shape": np.array([4, COUNT])}
    save(
        name, nodes, {"x": (FLOAT, [frames, 3, HEIGHT, WIDTH])}, {"output0": [frames, 6, COUNT]}, constants,
        LABELS + """
[input]
name = "x"
size = [320, 256]
pad = 114
colors = "BGR"

[output]
decode = "yolo"
names = ["output0"]
least = 0.25
overlap = 0.1
""",
    )


def detr(name, terms=False):
    nodes, constants, boxes = listed()
    mean, std = (np.array(values, np.float32).reshape(1, 3, 1, 1) for values in ([0.485, 0.456, 0.406], [0.229, 0.224, 0.225]))
    nodes = [
        node("Transpose", "picture", "whitened", perm=[0, 3, 1, 2]),
        node("Mul", "whitened std", "spread"),
        node("Add", "spread mean", "x"),
        *nodes,
        node("Transpose", "rows", "turned", perm=[0, 2, 1]),
        node("Mul", "turned strength", "strong"),
        node("Concat", "batch box_shape", "boxes_shape", axis=0),
        node("Expand", "boxes boxes_shape", "pred_boxes"),
    ]
    shares = boxes / np.array([[WIDTH], [HEIGHT]] * 2, np.float32)
    constants |= {"std": std, "mean": mean, "strength": np.float32(20), "boxes": shares.T[None], "box_shape": np.array([COUNT, 4])}
    inputs = {"picture": (FLOAT, ["frames", HEIGHT, WIDTH, 3])}
    if terms:
        # The first token chooses a column; less 18, so that half a square is below even.
        nodes += [node("Gather", "input_ids first", "column_ids", axis=1), node("Squeeze", "column_ids one_axis", "columns"), node("Gather", "strong columns", "chosen", axis=2), node("Sub", "chosen limit", "logits")]
        inputs["input_ids"] = (INT64, ["terms", 4])
        constants |= {"limit": np.float32(18), "one_axis": np.array([1])}
    else:
        nodes += [node("Concat", "batch nothing_shape", "all_nothing", axis=0), node("Expand", "limit all_nothing", "nothing"), node("Concat", "strong nothing", "logits", axis=2)]
        constants |= {"limit": np.float32([[[18]]]), "nothing_shape": np.array([COUNT, 1])}
    tail = '\n[terms]\ntokenizer = "tokenizer.json"\nnames = ["input_ids"]\nlength = 4\n' if terms else ""
    save(
        name, nodes, inputs, {"logits": ["frames", COUNT, "terms" if terms else 3], "pred_boxes": ["frames", COUNT, 4]}, constants,
        ("" if terms else LABELS) + f"""
[input]
name = "picture"
size = [320, 256]
fit = "stretch"
layout = "NHWC"
mean = [0.485, 0.456, 0.406]
std = [0.229, 0.224, 0.225]

[output]
decode = "detr"
names = ["logits", "pred_boxes"]
activation = "{"sigmoid" if terms else "softmax"}"
units = "share"
least = 0.5
""" + tail,
    )


centernet()
yolo("yolo", "frames")
yolo("single", 1)
detr("detr")
detr("open", terms=True)
# The token of "r" is 0, and that of any other word 1.
(folder / "tokenizer.json").write_text(json.dumps({
    "version": "1.0", "pre_tokenizer": {"type": "Whitespace"}, "model": {"type": "WordLevel", "vocab": {"r": 0, "other": 1}, "unk_token": "other"},
}))
