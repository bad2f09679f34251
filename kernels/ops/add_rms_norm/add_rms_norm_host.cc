// add_rms_norm on the host: the sum, and rms_norm's own code over it.
#include <cstddef>
#include <cstdint>

#include "kernels/core/operator.h"
#include "kernels/ops/add_rms_norm/add_rms_norm.h"
#include "kernels/primitives/row_operator.h"
#include "kernels/primitives/row_work.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ops/add_rms_norm/add_rms_norm_host.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "kernels/ops/rms_norm/rms_norm_row-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

/// x + addend[i]
template <typename Acc>
struct Plus {
  const Acc* addend;
  std::int64_t ahead;  // as MapElements', of the addend
  template <bool kWhole, class D>
  HWY_INLINE hn::Vec<D> Apply(D d, hn::Vec<D> x, std::int64_t i, std::int64_t count) const {
    if (kWhole && ahead != 0) {
      FetchToRead(addend + i, ahead);
    }
    return hn::Add(x, Operand<kWhole>(d, addend, i, count));
  }
};

/// The rounded sums of a and b. They are kept in `residual` where the request asked for it, and otherwise formed again
/// whenever they are needed.
class RowsOfSums {
 public:
  static constexpr int kWeight = kAddRmsNormWeightInput;
  static constexpr int kY = kAddRmsNormY;

  RowsOfSums(const AddRmsNormParams& params, const Segment& segment) : dtype_(params.x_type), segment_(segment) {}

  /// Only now are a and b what they were: residual may lie where one of them does.
  const void* First(std::int64_t row, std::int64_t first, std::int64_t count) {
    void* const residual = segment_.outputs[kAddRmsNormResidual];
    void* const place = residual == nullptr ? static_cast<void*>(formed_)
                                            : At(dtype_, residual, row * segment_.extents[kRowStrideResidual] + first);
    const void* const a = At(dtype_, segment_.inputs[kAddRmsNormA], row * segment_.extents[kRowStrideX] + first);
    const void* const b = At(dtype_, segment_.inputs[kAddRmsNormB], row * segment_.extents[kRowStrideB] + first);
    if (dtype_ == DataType::kFp64) {
      Add(a, b, count, in_f64_, place);
    } else {  // a sum of 16-bit numbers rounded to f32 first is no different from one rounded once
      Add(a, b, count, in_f32_, place);
    }
    return place;
  }

  const void* Again(std::int64_t row, std::int64_t first, std::int64_t count) {
    void* const residual = segment_.outputs[kAddRmsNormResidual];
    return residual == nullptr ? First(row, first, count)
                               : At(dtype_, residual, row * segment_.extents[kRowStrideResidual] + first);
  }

 private:
  template <typename Acc>
  struct Buffers {
    BlockBuffer<Acc> addend;
    BlockBuffer<Acc> scratch;
  };

  template <typename Acc>
  void Add(const void* a, const void* b, std::int64_t count, Buffers<Acc>& buffers, void* place) {
    const Acc* const addend = LoadBlock(dtype_, b, count, buffers.addend.values, kReadAheadBytes);
    const Plus<Acc> plus{addend, addend == buffers.addend.values ? 0 : kReadAheadBytes};
    MapBlock(dtype_, a, count, plus, dtype_, place, buffers.scratch.values, kReadAheadBytes);
  }

  DataType dtype_;
  const Segment& segment_;
  Buffers<float> in_f32_;
  Buffers<double> in_f64_;
  HWY_ALIGN std::byte formed_[kBlock * sizeof(double)];
};

RowFunctions AddRmsNormWork(bool f64) {
  return f64 ? RowFunctionsOf<RmsNormRow<double, RowsOfSums>>::Functions()
             : RowFunctionsOf<RmsNormRow<float, RowsOfSums>>::Functions();
}

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kernelwire {
namespace {

HWY_EXPORT(AddRmsNormWork);

}  // namespace

absl::Status RunAddRmsNormHost(const Launch& launch, ParallelExecutor& threads) {
  const auto params = launch.plan->Params<AddRmsNormParams>();
  const auto element_bytes = static_cast<std::int64_t>(3 * SizeOf(params.x_type) + SizeOf(params.y_type));
  RunRows(HWY_DYNAMIC_DISPATCH(AddRmsNormWork)(ComputesInF64(params.x_type, params.y_type)), launch, params.width,
          params.width * element_bytes, threads);
  return absl::OkStatus();
}

}  // namespace kernelwire
#endif  // HWY_ONCE
