// The launch of prod.
#include "kernels/ops/prod/prod_cuda.cuh"

namespace kernelwire {

int LaunchProdCuda(const Launch& launch, CUstream_st* stream) { return LaunchProducts(launch, stream); }

}  // namespace kernelwire
