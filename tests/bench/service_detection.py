#!/usr/bin/env python3
"""detection_postprocess of one image through a running server, by the stock Triton client: what a lone caller waits.

    tests/bench/service_detection.py --write head.npy                        once: makes the input, for both clients
    tests/bench/service_detection.py --address localhost:8001 --predictions head.npy
    kernelwire --address=localhost:8001 bench detection_postprocess --input predictions=head.npy \\
        --attribute layout=yolov8 --attribute iou_threshold=0.65 --outstanding 1

The last line is the same by the C++ client, which with --outstanding 16 shows what the server can do. Both send one
prepared request again and again, and time a call from its start until its reply is there as a message; tritonclient
takes it apart by then, `kernelwire bench` does not. Needs numpy, and for measuring tritonclient[grpc].
"""

import argparse
import json
import pathlib
import statistics
import sys
import time

import numpy

SEED = 5
BOXES, CLASSES, OBJECTS, JITTER = 8400, 80, 60, 0.3
ATTRIBUTES = {"layout": "yolov8", "iou_threshold": 0.65}


def detector_output():
    """[84, 8400] of float16, made as tests/bench/detection makes its own (with other random numbers): boxes of sides 20
    to 120 crowd around 60 places; one in twelve is sure of a class, by 0.3 to 1, the others of none, below 0.2."""
    random = numpy.random.default_rng(SEED)
    places = random.random((OBJECTS, 2)) * (40 * OBJECTS**0.5 + 200)
    sizes = 20 + 100 * random.random((OBJECTS, 2))
    which = random.integers(OBJECTS, size=BOXES)
    size = sizes[which] * (1 + JITTER * (random.random((BOXES, 2)) - 0.5))
    centre = places[which] + sizes[which] * JITTER * (random.random((BOXES, 2)) - 0.5)
    scores = 0.2 * random.random((CLASSES, BOXES))
    sure = random.random(BOXES) < 1 / 12
    best = 0.3 + 0.7 * random.random(BOXES)
    scores[random.integers(CLASSES, size=BOXES), numpy.arange(BOXES)] = numpy.where(sure, best, 0)
    return numpy.concatenate([centre.T, size.T, scores]).astype(numpy.float16)


def measure(address, predictions, seconds, warm_up):
    """Detections in the image, and the seconds that each call took."""
    import tritonclient.grpc as triton

    tensor = triton.InferInput("predictions", list(predictions.shape), "FP16")
    tensor.set_data_from_numpy(predictions)
    with triton.InferenceServerClient(address) as client:
        def call():
            return client.infer("detection_postprocess", [tensor], parameters=ATTRIBUTES, client_timeout=10)

        found = int(call().as_numpy("num_detections")[0])
        times = []
        begin = time.perf_counter()
        while (now := time.perf_counter()) < begin + warm_up + seconds:
            call()
            if now >= begin + warm_up:
                times.append(time.perf_counter() - now)
    return found, times


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", metavar="FILE", help="writes the input there and ends")
    parser.add_argument("--predictions", metavar="FILE", help="the input; default: what --write would write")
    parser.add_argument("--address", default="localhost:8001")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--warm_up", type=float, default=0.5, help="seconds of calls before that, uncounted")
    parser.add_argument("--json", metavar="FILE")
    arguments = parser.parse_args()
    if arguments.write:
        with open(arguments.write, "wb") as file:
            numpy.save(file, detector_output())
        return
    predictions = numpy.load(arguments.predictions) if arguments.predictions else detector_output()
    if predictions.dtype != numpy.float16:
        sys.exit(f"service_detection: {arguments.predictions}: expected float16, got {predictions.dtype}")
    found, times = measure(arguments.address, predictions, arguments.seconds, arguments.warm_up)
    cuts = statistics.quantiles(times, n=100, method="inclusive")
    row = {"shape": predictions.shape, "detections": found, "calls": len(times), "p50_us": cuts[49] * 1e6,
           "p90_us": cuts[89] * 1e6, "p99_us": cuts[98] * 1e6, "calls_per_second": len(times) / sum(times)}
    print(f"detection_postprocess at {arguments.address}: FP16 {list(predictions.shape)}, {found} detections")
    print("{calls} calls, {calls_per_second:.0f} calls/s, p50 {p50_us:.0f} us, p90 {p90_us:.0f} us, p99 {p99_us:.0f} us"
          .format(**row))
    if arguments.json:
        pathlib.Path(arguments.json).write_text(json.dumps(row, indent=1))


if __name__ == "__main__":
    main()
