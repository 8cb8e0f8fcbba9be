"""Prints the frames per second of the model alone, in a loop over a prepared batch. Nothing is
decoded, sent or read: a server cannot be faster. Arguments: manifest, provider, batch, frames."""

import argparse
import sys
import time
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import manifest  # noqa: E402  after its folder is on the path
import pictures  # noqa: E402
from session import Session  # noqa: E402

path, provider, batch, frames = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
rules, model = manifest.load(path)
session = Session(rules, model, argparse.Namespace(provider=provider, device=0, threads=1, batch={batch}))
values, _ = pictures.prepare(np.random.RandomState(1).randint(0, 255, (360, 640, 3), np.uint8), rules.input)
values = [values] * batch
session.run((values[0].shape, None), values)  # warm up
began = time.perf_counter()
for _ in range(frames // batch):
    session.run((values[0].shape, None), values)
print(frames // batch * batch / (time.perf_counter() - began))
