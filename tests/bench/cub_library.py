"""CUB's reductions (libkernelwire-bench-cub.so, cub_reduce.cu) on torch tensors: a peer of ours."""

import ctypes

import torch

from kernel_library import load

OPERATORS = ["sum", "prod", "min", "max", "argmin", "argmax"]  # here and below in the order of KwCubReduce
TYPES = [torch.float32, torch.bfloat16, torch.float16, torch.float64, torch.int8, torch.int32, torch.float8_e4m3fn,
         torch.float8_e5m2]
SUMS = {torch.int8: torch.int32, torch.int32: torch.int64}
NUMBERS = {torch.float8_e4m3fn: torch.float32, torch.float8_e5m2: torch.float32}


def result_type(op, dtype):
    """What our operators choose too."""
    if op.startswith("arg"):
        return torch.int64
    if op in ("sum", "prod") and dtype in SUMS:
        return SUMS[dtype]
    return NUMBERS.get(dtype, dtype)


def agrees(op, y, x, axis, reduce):
    """Whether `y` is what torch's `reduce` makes of `x`, which it computes in a wider type."""
    wide = x.double() if x.is_floating_point() else x.long()
    expected = reduce(wide).to(y.dtype)
    if op not in ("sum", "prod") or not y.is_floating_point():
        return torch.equal(y, expected)
    lost = 1e-5 * wide.abs().sum(axis) if op == "sum" else 1e-30  # products pass through FP32's least numbers
    y, expected = y.double(), expected.double()
    return bool(((y == expected) | ((y - expected).abs() <= lost + 1e-2 * expected.abs())).all())


class CubLibrary:
    """Loads the shared library found under `folder`."""

    def __init__(self, folder):
        pointer = ctypes.c_void_p
        self.reduce = load(folder, "libkernelwire-bench-cub.so").KwCubReduce
        self.reduce.argtypes = [ctypes.c_int, ctypes.c_int, pointer, pointer, ctypes.c_longlong, ctypes.c_longlong,
                                pointer, ctypes.POINTER(ctypes.c_size_t), pointer]

    def offers(self, op, dtype, rank, axis):
        """Whole tensors and the rows of a matrix."""
        return op in OPERATORS and dtype in TYPES and (axis is None or (rank == 2 and axis == 1))

    def bind(self, op, x, axis):
        """CUB on a torch tensor, its memory allocated beforehand: a closure that runs on torch's stream."""
        rows = 1 if axis is None else x.shape[0]
        y = torch.empty(() if axis is None else rows, dtype=result_type(op, x.dtype), device="cuda")
        size = ctypes.c_size_t()
        device = torch.cuda.current_device()

        def run(temp=None, keep=(x, y)):
            error = self.reduce(OPERATORS.index(op), TYPES.index(x.dtype), x.data_ptr(), y.data_ptr(), rows,
                                x.numel() // rows, temp.data_ptr() if temp is not None else None, ctypes.byref(size),
                                torch._C._cuda_getCurrentRawStream(device))
            if error:
                raise RuntimeError("not offered" if error == -1 else f"CUDA error {error}")
            return keep[1]

        run()  # asks for the size
        temp = torch.empty(max(1, size.value), dtype=torch.uint8, device="cuda")
        return lambda: run(temp)

    def calls(self, op, tensors, axis, reduce):
        """A closure for each tensor. The first one's result is compared with torch's `reduce`."""
        bound = [self.bind(op, x, axis) for x in tensors]
        if not agrees(op, bound[0](), tensors[0], axis, reduce):
            print(f"  cub: {op} of {tensors[0].dtype} {list(tensors[0].shape)} differs from torch's")
        return bound
