// rms_norm on the host: vectorised over a row, threads over rows and over parts of long ones.
#include <cstddef>
#include <cstdint>

#include "kernels/core/operator.h"
#include "kernels/ops/rms_norm/rms_norm.h"
#include "kernels/primitives/row_operator.h"
#include "kernels/primitives/row_work.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ops/rms_norm/rms_norm_host.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "kernels/ops/rms_norm/rms_norm_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

/// x where it lies.
class RowsInMemory {
 public:
  static constexpr int kWeight = kRmsNormWeightInput;
  static constexpr int kY = 0;

  RowsInMemory(const RmsNormParams& params, const Segment& segment)
      : dtype_(params.x_type), x_(segment.inputs[kRmsNormX]), stride_(segment.extents[kRowStrideX]) {}

  const void* First(std::int64_t row, std::int64_t first, std::int64_t /*count*/) const {
    return At(dtype_, x_, row * stride_ + first);
  }
  const void* Again(std::int64_t row, std::int64_t first, std::int64_t count) const { return First(row, first, count); }

 private:
  DataType dtype_;
  const void* x_;
  std::int64_t stride_;
};

RowFunctions RmsNormWork(bool f64) {
  return f64 ? RowFunctionsOf<RmsNormRow<double, RowsInMemory>>::Functions()
             : RowFunctionsOf<RmsNormRow<float, RowsInMemory>>::Functions();
}

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kernelwire {
namespace {

HWY_EXPORT(RmsNormWork);

}  // namespace

absl::Status RunRmsNormHost(const Launch& launch, ParallelExecutor& threads) {
  const auto params = launch.plan->Params<RmsNormParams>();
  const auto element_bytes = static_cast<std::int64_t>(SizeOf(params.x_type) + SizeOf(params.y_type));
  RunRows(HWY_DYNAMIC_DISPATCH(RmsNormWork)(ComputesInF64(params.x_type, params.y_type)), launch, params.width,
          params.width * element_bytes, threads);
  return absl::OkStatus();
}

}  // namespace kernelwire
#endif  // HWY_ONCE
