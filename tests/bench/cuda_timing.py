"""Times of GPU work: captured in a graph, over rotated tensors that the cache cannot hold, medians of many replays."""

import math
import statistics

import torch

from kernel_library import describe

WIRE = {torch.float16: "FP16", torch.bfloat16: "BF16", torch.float32: "FP32", torch.float64: "FP64",
        torch.int8: "INT8", torch.uint8: "UINT8", torch.int32: "INT32", torch.int64: "INT64",
        torch.float8_e4m3fn: "FP8_E4M3", torch.float8_e5m2: "FP8_E5M2"}
TORCH = {name: dtype for dtype, name in WIRE.items()}
ROTATION_MIB = 200  # of all rotated inputs together: far more than the 60 MB of the last-level cache


def microseconds(calls, repeats=50, least_launches=10):
    """Median time of one call. `calls`: one closure for each set of rotated tensors, run in turn inside one graph. What
    a call returns stays until its set's turn comes again: otherwise all calls would write to one place, in the cache."""
    launches = max(least_launches, len(calls)) if len(calls) > 1 else 2
    for call in calls[:3]:
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    kept = [None] * len(calls)
    with torch.cuda.graph(graph):
        for i in range(launches):
            kept[i % len(calls)] = calls[i % len(calls)]()
    graph.replay()
    torch.cuda.synchronize()
    times = []
    for _ in range(repeats):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(begin.elapsed_time(end) * 1e3 / launches)
    return statistics.median(times)


def random_tensor(shape, dtype):
    if dtype in (torch.int8, torch.int32):
        return torch.randint(-100, 100, shape, dtype=dtype, device="cuda")
    if dtype in (torch.float8_e4m3fn, torch.float8_e5m2):
        return torch.randn(shape, device="cuda").to(dtype)
    return torch.randn(shape, dtype=torch.float32, device="cuda").to(dtype)


def behind(tensor, begin):
    """A copy that begins `begin` bytes behind an aligned place, and ends with its memory."""
    memory = torch.empty(begin + tensor.nbytes, dtype=torch.uint8, device="cuda")
    return memory[begin:].view(tensor.dtype).view(tensor.shape).copy_(tensor)


def empty_output(wire_type, shape, size, begin=0):
    """A tensor at the beginning of `size` bytes, which are `begin` behind an aligned place: notes on results that may
    not fit their type come behind it."""
    dtype = TORCH[wire_type]
    memory = torch.empty(begin + size, dtype=torch.uint8, device="cuda")
    return memory[begin:begin + math.prod(shape) * dtype.itemsize].view(dtype).view(shape)


def parts_of(inputs, requests):
    """The inputs of that many requests with a part of the rows each, and with the parameters, which are vectors."""
    parts = [[t] * requests if t is None or t.dim() < 2 else [part.clone() for part in t.tensor_split(requests)]
             for t in inputs]
    return [list(of_request) for of_request in zip(*parts)]


def bind_cuda(library, op, inputs, attributes="", wanted=0, outputs=None, begin=0, requests=1):
    """Our operator on torch tensors (None: absent): returns (closure, outputs). The closure runs on torch's stream.
    `begin`: see empty_output. `requests`: so many share the launch; then outputs are lists, one a request."""
    table = torch.empty(library.table_bytes(), dtype=torch.uint8, device="cuda")
    address = lambda t: 0 if t is None else t.data_ptr()  # noqa: E731
    binding, kept = None, [table]
    for part in parts_of(inputs, requests) if requests > 1 else [inputs]:
        descs = [None if t is None else describe(WIRE[t.dtype], list(t.shape)) for t in part]
        request = library.plan(op, descs, attributes, wanted)
        planned = [request.output(i) for i in range(6)]
        results = outputs or [None if each is None else empty_output(*each, begin) for each in planned]
        workspace = torch.empty(max(1, request.workspace_bytes()), dtype=torch.uint8, device="cuda")
        tensors = [address(t) for t in part], [address(t) for t in results], workspace.data_ptr()
        if binding is None:
            binding = request.bind(*tensors, table.data_ptr())
        else:
            binding.join(request, *tensors)
        kept.append((part, results, workspace))
    table.copy_(torch.frombuffer(bytearray(binding.table()), dtype=torch.uint8))
    all_results = [results for _, results, _ in kept[1:]] if requests > 1 else kept[1][1]
    device = torch.cuda.current_device()

    def run(keep=(kept, all_results)):
        binding.run_cuda(torch._C._cuda_getCurrentRawStream(device))  # as compiled code asks for it
        return keep[1]

    return run, all_results


def copy_gigabytes_per_second():
    """What a kernel that reads and writes once reaches here, read plus written bytes."""
    x = torch.randn(1 << 28, device="cuda")
    y = torch.empty_like(x)
    time = microseconds([lambda: torch.neg(x, out=y)])
    return 2 * x.numel() * 4 / time / 1e3
