"""QuACK's kernels (package quack-kernels, written in the CuTe DSL) on torch tensors: a peer of row-wise operators."""

import torch

TOLERANCE = {torch.float32: 1e-4, torch.float16: 1e-2, torch.bfloat16: 5e-2}


class QuackKernels:
    """Each operator as QuACK's own interface offers it, which compiles a kernel for each type and width."""

    def __init__(self, epsilon):
        from quack.rmsnorm import layernorm_fwd, rmsnorm_fwd
        from quack.softmax import softmax_fwd

        self.functions = {
            "rms_norm": lambda x, w: rmsnorm_fwd(x, w, eps=epsilon)[0],
            "layer_norm": lambda x, w, b: layernorm_fwd(x, w, b, eps=epsilon),
            "add_rms_norm": lambda a, b, w: rmsnorm_fwd(a, w, residual=b, eps=epsilon)[:2],
            "softmax": softmax_fwd,
        }

    def offers(self, op, dtype):
        return op in self.functions and dtype in TOLERANCE

    def calls(self, op, inputs, reference):
        """A closure for each set of tensors. The first one's result is compared with torch's `reference`."""
        if op == "layer_norm":  # takes parameters of FP32 alone
            inputs = [[x, *(parameter.float() for parameter in parameters)] for x, *parameters in inputs]
        function = self.functions[op]
        ours, theirs = function(*inputs[0]), reference(*(t.to(inputs[0][0].dtype) for t in inputs[0]))
        pairs = zip(ours, theirs) if isinstance(theirs, tuple) else [(ours, theirs)]
        if not all(torch.allclose(a, b, rtol=TOLERANCE[b.dtype], atol=TOLERANCE[b.dtype]) for a, b in pairs):
            print(f"  quack: {op} of {inputs[0][0].dtype} {list(inputs[0][0].shape)} differs from torch's")
        return [lambda t=t: function(*t) for t in inputs]
