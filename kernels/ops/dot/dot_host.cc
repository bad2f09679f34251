// dot on the host: products of f32 join the sum by fused multiply-adds, in short chains that go on in f64; products of
// INT8 are added exactly.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <type_traits>

#include "kernels/core/operator.h"
#include "kernels/primitives/reduce_host.h"
#include "kernels/primitives/reduce_store.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ops/dot/dot_host.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "kernels/primitives/reduce_host-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

/// In four chains of at most 8 multiply-adds each, then in f64. Where products leave f32, or are so small that it
/// rounds them, in f64 from the start, which holds them exactly.
template <typename WorkType>
struct FloatDot {
  using Work = WorkType;
  using Total = double;
  static constexpr int kInputs = 2;

  Total Identity() const { return 0.0; }
  Total Combine(Total a, Total b) const { return a + b; }

  template <class From>
  void AddBlock(const typename From::Stored* a, const typename From::Stored* b, std::int64_t count,
                Total& total) const {
    const hn::ScalableTag<Work> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    const auto join = [&](std::int64_t i, auto sum)
                          HWY_ATTR { return hn::MulAdd(From::Load(d, a + i), From::Load(d, b + i), sum); };
    std::int64_t i = 0;
    while (i + 4 * lanes <= count) {
      const std::int64_t first = i;
      auto s0 = hn::Zero(d);
      auto s1 = s0;
      auto s2 = s0;
      auto s3 = s0;
      for (std::int64_t step = 0; step < 8 && i + 4 * lanes <= count; ++step, i += 4 * lanes) {
        s0 = join(i, s0);
        s1 = join(i + lanes, s1);
        s2 = join(i + 2 * lanes, s2);
        s3 = join(i + 3 * lanes, s3);
      }
      const Work sum = hn::GetLane(hn::SumOfLanes(d, hn::Add(hn::Add(s0, s1), hn::Add(s2, s3))));
      if (IsExactEnough(sum) || (sum == Work{0} && !HasProduct<From>(a + first, b + first, i - first))) {
        total += static_cast<double>(sum);
        continue;
      }
      for (std::int64_t again = first; again < i; again += lanes) {
        total += SumOfProducts<From>(a + again, b + again, lanes);
      }
    }
    for (; i < count; i += lanes) {
      total += SumOfProducts<From>(a + i, b + i, std::min(lanes, count - i));
    }
  }
  Total Result(Total total) const { return total; }

 private:
  static bool IsExactEnough(Work sum) {
    constexpr Work kLeast{0x1p-100F};
    return std::is_same_v<Work, double> || (std::isfinite(sum) && std::abs(sum) >= kLeast);
  }

  /// Whether a product is not zero, whatever it is in f32. Requires: whole vectors.
  template <class From>
  static bool HasProduct(const typename From::Stored* a, const typename From::Stored* b, std::int64_t count) {
    const hn::ScalableTag<Work> d;
    const auto zero = hn::Zero(d);
    bool has = false;
    for (std::int64_t i = 0; i < count && !has; i += static_cast<std::int64_t>(hn::Lanes(d))) {
      has = !hn::AllFalse(d, hn::And(hn::Ne(From::Load(d, a + i), zero), hn::Ne(From::Load(d, b + i), zero)));
    }
    return has;
  }

  /// Of at most a vector, in f64.
  template <class From>
  static double SumOfProducts(const typename From::Stored* a, const typename From::Stored* b, std::int64_t count) {
    const hn::ScalableTag<Work> d;
    HWY_ALIGN Work x[HWY_MAX_BYTES / sizeof(Work)];
    HWY_ALIGN Work y[HWY_MAX_BYTES / sizeof(Work)];
    const bool whole = count == static_cast<std::int64_t>(hn::Lanes(d));
    hn::Store(whole ? From::Load(d, a) : From::LoadPartial(d, a, count, Work{0}), d, x);
    hn::Store(whole ? From::Load(d, b) : From::LoadPartial(d, b, count, Work{0}), d, y);
    double sum = 0.0;
    for (std::int64_t i = 0; i < count; ++i) {
      sum += static_cast<double>(x[i]) * static_cast<double>(y[i]);
    }
    return sum;
  }
};

struct Int8Dot {
  using Work = std::int32_t;
  using Total = std::int64_t;
  static constexpr int kInputs = 2;

  Total Identity() const { return 0; }
  Total Combine(Total a, Total b) const { return a + b; }
  /// A block's sum fits 32 bits: kBlock * 2^14 = 2^25.
  void AddBlock(const Work* a, const Work* b, std::int64_t count, Total& total) const {
    const hn::ScalableTag<Work> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    auto sum = hn::Zero(d);
    std::int64_t i = 0;
    for (; i + lanes <= count; i += lanes) {
      sum = hn::Add(sum, hn::Mul(hn::LoadU(d, a + i), hn::LoadU(d, b + i)));
    }
    total += hn::GetLane(hn::SumOfLanes(d, sum));
    for (; i < count; ++i) {
      total += std::int64_t{a[i]} * b[i];
    }
  }
  Total Result(Total total) const { return total; }
};

/// With an accumulator asked for by name: f64, or a 16-bit type to which every partial sum is rounded.
struct NamedDot {
  using Work = double;
  using Total = double;
  static constexpr int kInputs = 2;
  DataType accumulator;

  Total Identity() const { return 0.0; }
  Total Combine(Total a, Total b) const { return RoundedTo(accumulator, a + b); }
  void AddBlock(const double* a, const double* b, std::int64_t count, Total& total) const {
    for (std::int64_t i = 0; i < count; ++i) {
      total = Combine(total, a[i] * b[i]);
    }
  }
  Total Result(Total total) const { return total; }
};

void DotPhase(const HostReduction& job, ReducePhase phase, std::int64_t begin, std::int64_t end) {
  const DataType type = job.params.x_type;
  const DataType accumulator = job.params.accumulator;
  if (type == DataType::kInt8) {
    RunPhase(job, Int8Dot{}, phase, begin, end);
  } else if (type == DataType::kFp64) {
    RunPhase(job, FloatDot<double>{}, phase, begin, end);
  } else if (accumulator == DataType::kFp32) {
    RunPhase(job, FloatDot<float>{}, phase, begin, end);
  } else {
    RunPhase(job, NamedDot{accumulator}, phase, begin, end);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kernelwire {
namespace {

HWY_EXPORT(DotPhase);

}  // namespace

absl::Status RunDotHost(const Launch& launch, ParallelExecutor& threads) {
  return RunReduction(HostReduction(launch), HWY_DYNAMIC_DISPATCH(DotPhase), threads);
}

}  // namespace kernelwire
#endif  // HWY_ONCE
