// What sum and mean share on the host and on the device: how a sum becomes the result.
#ifndef KERNELWIRE_KERNELS_OPS_SUM_SUM_H_
#define KERNELWIRE_KERNELS_OPS_SUM_SUM_H_

#include "kernels/core/launch.h"
#include "kernels/primitives/reduce_params.h"

namespace kernelwire {

struct SumFinish {
  bool mean = false;
  double count = 1.0;  // elements of a result, where `mean`; 0 makes it NaN
};

inline SumFinish MeanFinish(const Launch& launch) {
  return {true, static_cast<double>(LayOutReduction(launch.plan->Params<ReduceParams>()).width)};
}

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_OPS_SUM_SUM_H_
