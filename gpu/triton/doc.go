// Package triton holds an engine for GPUs, in Python, and its test; it has no Go code of
// its own.
//
//   - models/ is a Triton model repository. models/detect/1/detector.py is the model `detect`
//     of package oip, made from OWLv2, an open-vocabulary detector of transformers. model.py
//     beside it is the adapter for Triton's Python backend.
//   - serve.py serves the same detector without Triton, on KServe's model server.
//   - Dockerfile makes an image of either. compose.yaml runs one of them on a GPU box,
//     kubernetes.yaml several Tritons in a cluster.
//
// Guarantees of the detector: the outputs pass the checks of package oip. A frame that is
// not a JPEG and a request beyond the bounds are refused as errors of the client (400,
// INVALID_ARGUMENT). The same request gives the same response. The detector has processed a
// batch before it is ready. The weights are named by a digest of their content, so that a
// Pool can compare servers. serve.py computes the name. Triton has it in a file: model.py
// refuses weights other than those that config.pbtxt names, and prints the right values.
// Clients set the deadlines. A request that was canceled while it waited is not processed.
//
// Every term that fits into the text encoder is known. There are no poses (KEYPOINTS are
// zeros) and no colors. Scores need a calibration of their own (VQA_CALIBRATION_FILE).
// Without one no answer is surer than .69 (domain/answer, Unmeasured).
//
// The tests run with the Python at VQA_TRITON_PYTHON, else python3, if it has the packages
// of requirements.txt. They need no GPU and fetch no weights. serve.py is tested as a
// whole, with the clients of package oip, on random weights on the CPU. model.py is tested
// with a stand-in for Triton's Python module.
//
// There was no accelerator and no image. So these were never run: Triton itself with
// config.pbtxt, the Dockerfile, the compose and Kubernetes examples, half precision on a
// GPU, and real weights. The quality and the speed of OWLv2 are therefore not known here.
//
// BenchmarkServed compares serve.py with the model alone.
package triton
