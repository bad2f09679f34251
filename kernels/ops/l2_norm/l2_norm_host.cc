// l2_norm on the host: squares are added in f64, since they leave the range of f32 long before their root does.
#include <cmath>
#include <cstdint>

#include "kernels/core/operator.h"
#include "kernels/primitives/reduce_host.h"
#include "kernels/primitives/reduce_store.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ops/l2_norm/l2_norm_host.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "kernels/primitives/reduce_host-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <typename WorkType>
struct SquareSum {
  using Work = WorkType;
  using Total = double;
  using Partial = double;
  using Columns = FoldedColumns<SquareSum>;
  static constexpr int kInputs = 1;

  Total Identity() const { return 0.0; }
  Total Combine(Total a, Total b) const { return a + b; }

  void AddBlock(const Work* x, std::int64_t count, std::int64_t /*first*/, Total& total) const {
    const hn::ScalableTag<double> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    auto s0 = hn::Zero(d);
    auto s1 = s0;
    auto s2 = s0;
    auto s3 = s0;
    std::int64_t i = 0;
    for (; i + 4 * lanes <= count; i += 4 * lanes) {
      s0 = AddSquare(d, x + i, s0);
      s1 = AddSquare(d, x + i + lanes, s1);
      s2 = AddSquare(d, x + i + 2 * lanes, s2);
      s3 = AddSquare(d, x + i + 3 * lanes, s3);
    }
    total += hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
    for (; i < count; ++i) {
      total += static_cast<double>(x[i]) * static_cast<double>(x[i]);
    }
  }

  static Partial Start() { return 0.0; }
  void StepEach(const Work* x, std::int64_t count, Partial* HWY_RESTRICT sums) const {
    const hn::ScalableTag<double> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    std::int64_t j = 0;
    for (; j + lanes <= count; j += lanes) {
      hn::StoreU(AddSquare(d, x + j, hn::LoadU(d, sums + j)), d, sums + j);
    }
    for (; j < count; ++j) {
      sums[j] += static_cast<double>(x[j]) * static_cast<double>(x[j]);
    }
  }
  void Join(Partial sum, Total& total) const { total += sum; }

  void Store(const HostReduction& job, const HostPlace& place, Total total) const {
    StoreResult(job, place, std::sqrt(total));
  }

 private:
  template <class D>
  static HWY_INLINE hn::Vec<D> AddSquare(D d, const Work* from, hn::Vec<D> sum) {
    const auto value = LoadWide(d, from);
    return hn::MulAdd(value, value, sum);
  }
};

/// Every partial sum rounded to a 16-bit accumulator.
struct RoundedSquareSum {
  using Work = double;
  using Total = double;
  using Columns = TurnedColumns<RoundedSquareSum>;
  static constexpr int kInputs = 1;
  DataType accumulator;

  Total Identity() const { return 0.0; }
  Total Combine(Total a, Total b) const { return RoundedTo(accumulator, a + b); }
  void AddBlock(const double* x, std::int64_t count, std::int64_t /*first*/, Total& total) const {
    for (std::int64_t i = 0; i < count; ++i) {
      total = Combine(total, x[i] * x[i]);
    }
  }
  void Store(const HostReduction& job, const HostPlace& place, Total total) const {
    StoreResult(job, place, std::sqrt(total));
  }
};

void NormPhase(const HostReduction& job, ReducePhase phase, std::int64_t begin, std::int64_t end) {
  const DataType type = job.params.x_type;
  const DataType accumulator = job.params.accumulator;
  if (accumulator == DataType::kFp16 || accumulator == DataType::kBf16) {
    RunPhase(job, RoundedSquareSum{accumulator}, phase, begin, end);
  } else if (IsFloat(type) && type != DataType::kFp64) {
    RunPhase(job, SquareSum<float>{}, phase, begin, end);
  } else {
    RunPhase(job, SquareSum<double>{}, phase, begin, end);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kernelwire {
namespace {

HWY_EXPORT(NormPhase);

}  // namespace

absl::Status RunL2NormHost(const Launch& launch, ParallelExecutor& threads) {
  return RunReduction(HostReduction(launch), HWY_DYNAMIC_DISPATCH(NormPhase), threads);
}

}  // namespace kernelwire
#endif  // HWY_ONCE
