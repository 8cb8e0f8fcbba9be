// Package triton holds an engine for GPUs, in Python, and the test of it; no Go code.
//
//   - models/ is a Triton model repository. models/detect/1/detector.py is the model
//     `detect` of package oip by OWLv2, an open-vocabulary detector of transformers;
//     model.py beside it is Triton's Python backend around it.
//   - serve.py serves the same detector without Triton, on KServe's model server.
//   - Dockerfile makes an image of either, compose.yaml runs one of them on a GPU box,
//     kubernetes.yaml several Tritons in a cluster.
//
// Guarantees of the detector: the outputs hold what package oip checks; a frame that is
// no JPEG and a request beyond the bounds are refused as the client's fault (400,
// INVALID_ARGUMENT); the same request gives the same answer; it has looked at a batch
// before it is ready; the weights are named by a digest of themselves, wherever they came
// from, so that a Pool can compare servers. serve.py computes the name; for Triton, whose
// configuration is a file, model.py refuses to load weights that are not those that
// config.pbtxt names, and says which they are. Clients set the deadlines: what was
// cancelled while it waited is not looked at.
//
// Every term is known that fits into the text encoder. There are no poses (KEYPOINTS are
// zeros) and no colors. Scores need a calibration of their own (VQA_CALIBRATION_FILE);
// without one no answer is surer than .69 (domain/answer, Unmeasured).
//
// The tests run where VQA_TRITON_PYTHON, else python3, is a Python with the packages of
// requirements.txt; they need no GPU and fetch no weights. serve.py is tested as a whole,
// with the clients of package oip, on random weights on the processor; model.py with a
// stand-in for Triton's Python module.
//
// What was never run, for want of an accelerator and of the images: Triton itself with
// config.pbtxt, the Dockerfile, the compose and Kubernetes examples, half precision on a
// GPU, and real weights. What OWLv2 answers, and how fast, is therefore not known here.
//
// BenchmarkServed measures what a client gets out of serve.py against the model alone.
package triton
