"""The operator library (libkernelwire-bench.so, kernels_abi.h) for Python: plan once, bind to tensors, run on a stream."""

import ctypes
import pathlib

MAX_RANK = 16


class KwTensor(ctypes.Structure):
    _fields_ = [("dtype", ctypes.c_char_p), ("rank", ctypes.c_int32), ("extents", ctypes.c_int64 * MAX_RANK),
                ("row_stride", ctypes.c_int64)]


def describe(dtype, shape, row_stride=0):
    return KwTensor(dtype.encode(), len(shape), (ctypes.c_int64 * MAX_RANK)(*shape), row_stride)


def load(folder, name):
    """The shared library `name` found under `folder` (a build folder or a bundle)."""
    found = sorted(pathlib.Path(folder).rglob(name))
    if not found:
        raise SystemExit(f"no {name} under {folder}")
    return ctypes.CDLL(str(found[0]))


class Library:
    """Loads the shared library found under `folder`."""

    def __init__(self, folder):
        lib = load(folder, "libkernelwire-bench.so")
        pointer, size = ctypes.c_void_p, ctypes.c_size_t
        lib.KwPlan.restype = pointer
        lib.KwPlan.argtypes = [ctypes.c_char_p, ctypes.POINTER(KwTensor), ctypes.c_int, ctypes.c_char_p,
                               ctypes.c_uint32, ctypes.POINTER(ctypes.c_int64)]
        lib.KwOutput.argtypes = [pointer, ctypes.c_int, ctypes.POINTER(KwTensor), ctypes.POINTER(size)]
        lib.KwWorkspaceBytes.restype = size
        lib.KwWorkspaceBytes.argtypes = [pointer]
        lib.KwBind.restype = pointer
        lib.KwBind.argtypes = [pointer, ctypes.POINTER(pointer), ctypes.POINTER(pointer), pointer, pointer]
        lib.KwJoin.argtypes = [pointer, pointer, ctypes.POINTER(pointer), ctypes.POINTER(pointer), pointer]
        lib.KwTableBytes.restype = size
        lib.KwTable.restype = pointer
        lib.KwTable.argtypes = [pointer]
        lib.KwRunCuda.argtypes = [pointer, pointer]
        lib.KwRunHost.argtypes = [pointer, ctypes.c_int]
        lib.KwUnbind.argtypes = [pointer]
        lib.KwFree.argtypes = [pointer]
        lib.KwError.restype = ctypes.c_char_p
        self.lib = lib

    def plan(self, op, inputs, attributes="", wanted=0, output_row_strides=None):
        """`inputs`: KwTensor or None, in the operator's order."""
        absent = KwTensor(None, 0)
        table = (KwTensor * len(inputs))(*[absent if i is None else i for i in inputs])
        strides = (ctypes.c_int64 * 6)(*output_row_strides) if output_row_strides else None
        request = self.lib.KwPlan(op.encode(), table, len(inputs), attributes.encode(), wanted, strides)
        if not request:
            raise ValueError(self.lib.KwError().decode())
        return Request(self.lib, request)

    def table_bytes(self):
        return self.lib.KwTableBytes()


class Request:
    def __init__(self, lib, handle):
        self.lib, self.handle = lib, handle

    def output(self, index):
        """(wire type, shape, bytes) of an output, or None."""
        desc, size = KwTensor(), ctypes.c_size_t()
        if not self.lib.KwOutput(self.handle, index, ctypes.byref(desc), ctypes.byref(size)):
            return None
        return desc.dtype.decode(), list(desc.extents[: desc.rank]), size.value

    def workspace_bytes(self):
        return self.lib.KwWorkspaceBytes(self.handle)

    def bind(self, inputs, outputs, workspace=0, table=0):
        """Addresses, 0 for what is absent."""
        handle = self.lib.KwBind(self.handle, pointers(inputs), pointers(outputs), workspace or None, table or None)
        return Binding(self, handle)


def pointers(addresses):
    return (ctypes.c_void_p * 6)(*[a or None for a in addresses], *[None] * (6 - len(addresses)))


class Binding:
    def __init__(self, request, handle):
        self.requests, self.lib, self.handle = [request], request.lib, handle

    def join(self, request, inputs, outputs, workspace=0):
        """One more request for the same launch."""
        if self.lib.KwJoin(self.handle, request.handle, pointers(inputs), pointers(outputs), workspace or None):
            raise ValueError(self.lib.KwError().decode())
        self.requests.append(request)

    def table(self):
        return ctypes.string_at(self.lib.KwTable(self.handle), self.lib.KwTableBytes())

    def run_cuda(self, stream):
        error = self.lib.KwRunCuda(self.handle, stream)
        if error:
            raise RuntimeError(f"CUDA error {error}")

    def run_host(self, threads):
        if self.lib.KwRunHost(self.handle, threads):
            raise RuntimeError(self.lib.KwError().decode())
