"""Prints the frames per second of the model alone. Pictures and terms are prepared; nothing is
decoded, sent or read back. A server cannot be faster."""

import argparse
import sys
import time
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[1] / "models" / "detect" / "1"))
from detector import Detector  # noqa: E402  after its folder is on the path

parser = argparse.ArgumentParser()
parser.add_argument("--source", required=True)
parser.add_argument("--frames", type=int, required=True)
parser.add_argument("--batch", type=int, default=16)
args = parser.parse_args()

detector = Detector(args.source, batch=args.batch)
model, device = detector._model, detector.device
size = model.config.vision_config.image_size
pixels = torch.rand(args.batch, 3, size, size, device=device)


@torch.inference_mode()
def loop(batches, queries):
    for _ in range(batches):
        with torch.autocast(device.type, torch.float16, enabled=device.type == "cuda"):
            features, _ = model.image_embedder(pixels)
        features = features.float()
        flat = features.reshape(args.batch, -1, features.shape[-1])
        model.class_predictor(flat, queries.expand(args.batch, -1, -1))
        model.box_predictor(flat, features)
    if device.type == "cuda":
        torch.cuda.synchronize()


with torch.inference_mode():
    queries = detector._embed(("dog", "stop sign"))[2]
batches = max(1, args.frames // args.batch)
loop(1, queries)  # warm up
began = time.perf_counter()
loop(batches, queries)
print(batches * args.batch / (time.perf_counter() - began))
detector.close()
