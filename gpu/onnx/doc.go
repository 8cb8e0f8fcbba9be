// Package onnx holds an inference server for GPUs, in Python, and its tests; it has no Go code
// of its own. It serves the model `detect` of package oip over HTTP, from any ONNX model that a
// manifest describes: DETR, YOLO, CenterNet, or a model that reads the terms.
//
//	python3 -m venv env && env/bin/pip install aiohttp numpy onnxruntime-gpu pillow tokenizers
//	env/bin/python serve.py models/centernet.toml --pose models/movenet.toml --host 0.0.0.0
//
// `serve.py --help` lists the flags: --provider cuda, tensorrt or cpu, the sizes of a batch, how
// long a frame waits for others, and how many frames may be unanswered. models/ has the manifests
// of the embedded worker's models. docs/engines.md describes the fields of a manifest.
//
// The server, file by file: serve.py has the routes, protocol.py the tensors on the wire,
// detector.py the way of a frame, pictures.py the pixels, batches.py the batches, session.py the
// device, decode.py the outputs, poses.py and colors.py what the worker's files of these names
// have, and terms.py the tokens of an open model.
//
// Guarantees: the outputs pass the checks of package oip. A model whose SHA-256 is not that of its
// manifest, and a manifest that does not fit its model, end the server with one line. An invalid
// request is a 400 that names the input. Too many frames are a 429. Frames of a client that left
// are dropped. Every size of a batch has run once before the server is ready. Scores can differ
// in the last digits with the size of a batch, so the same request may differ by as much.
//
// Colors, poses, turned views and pixels follow the worker's rules in code of their own. A test shows frames to
// both: no score, share of a color or coordinate may differ by more than .001.
//
// The tests run with the packages of requirements.txt (make test-setup), on the CPU. There was no
// accelerator: the providers cuda and tensorrt were never run. BenchmarkServed compares the
// server with the model alone. GET /v2/models/detect/stats counts the batches by size.
package onnx
