// prod on the host: floating-point factors in f64, integers exactly.
#include <cstdint>
#include <type_traits>

#include "kernels/core/operator.h"
#include "kernels/ops/prod/prod.h"
#include "kernels/primitives/reduce_host.h"
#include "kernels/primitives/reduce_store.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ops/prod/prod_host.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "kernels/primitives/reduce_host-inl.h"
#include "kernels/primitives/reduce_sum-inl.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

template <typename WorkType>
struct FloatProduct {
  using Work = WorkType;
  using Total = double;
  using Partial = double;
  using Columns = FoldedColumns<FloatProduct>;
  static constexpr int kInputs = 1;

  Total Identity() const { return 1.0; }
  Total Combine(Total a, Total b) const { return a * b; }

  template <class From>
  void AddBlock(const typename From::Stored* x, std::int64_t count, std::int64_t /*first*/, Total& total) const {
    const hn::ScalableTag<double> d;
    const auto lanes = static_cast<std::int64_t>(hn::Lanes(d));
    std::int64_t i = 0;
    auto p0 = hn::Set(d, 1.0);
    auto p1 = p0;
    auto p2 = p0;
    auto p3 = p0;
    for (; i + 4 * lanes <= count; i += 4 * lanes) {
      p0 = hn::Mul(p0, LoadFactors<From>(x + i));
      p1 = hn::Mul(p1, LoadFactors<From>(x + i + lanes));
      p2 = hn::Mul(p2, LoadFactors<From>(x + i + 2 * lanes));
      p3 = hn::Mul(p3, LoadFactors<From>(x + i + 3 * lanes));
    }
    for (; i + lanes <= count; i += lanes) {
      p0 = hn::Mul(p0, LoadFactors<From>(x + i));
    }
    if (i < count) {
      p1 = hn::Mul(p1, LoadLastFactors<From>(x + i, count - i));
    }
    HWY_ALIGN double of_lanes[HWY_MAX_BYTES / sizeof(double)];
    hn::Store(hn::Mul(hn::Mul(p0, p1), hn::Mul(p2, p3)), d, of_lanes);
    for (std::int64_t lane = 0; lane < lanes; ++lane) {
      total *= of_lanes[lane];
    }
  }

  static Partial Start() { return 1.0; }
  template <class Rows>
  HWY_INLINE void StepColumns(const Rows& rows, Partial* totals) const {
    JoinRowsWidened(rows, totals, [](auto /*wide*/, auto x, auto product) HWY_ATTR { return hn::Mul(product, x); });
  }

  double Result(Total total) const { return total; }

 private:
  using D = hn::ScalableTag<double>;
  using DWork = hn::Rebind<Work, D>;

  static HWY_INLINE hn::Vec<D> Widened(hn::Vec<DWork> x) {
    if constexpr (std::is_same_v<Work, double>) {
      return x;
    } else {
      return hn::PromoteTo(D(), x);
    }
  }
  template <class From>
  static HWY_INLINE hn::Vec<D> LoadFactors(const typename From::Stored* from) {
    return Widened(From::Load(DWork(), from));
  }
  template <class From>
  static HWY_INLINE hn::Vec<D> LoadLastFactors(const typename From::Stored* from, std::int64_t count) {
    return Widened(From::LoadPartial(DWork(), from, count, Work{1}));
  }
};

/// Every partial product rounded to a 16-bit accumulator.
struct RoundedProduct {
  using Work = double;
  using Total = double;
  using Columns = SeparateColumns<RoundedProduct>;
  static constexpr int kInputs = 1;
  DataType accumulator;

  Total Identity() const { return 1.0; }
  Total Combine(Total a, Total b) const { return RoundedTo(accumulator, a * b); }
  void AddBlock(const double* x, std::int64_t count, std::int64_t /*first*/, Total& total) const {
    for (std::int64_t i = 0; i < count; ++i) {
      total = Combine(total, x[i]);
    }
  }
  double Result(Total total) const { return total; }
};

struct IntegerProduct {
  using Work = std::int64_t;
  using Total = ExactProduct;
  using Columns = SeparateColumns<IntegerProduct>;
  static constexpr int kInputs = 1;

  Total Identity() const { return ExactProduct::Of(1); }
  Total Combine(const Total& a, const Total& b) const { return a.Times(b); }
  void AddBlock(const Work* x, std::int64_t count, std::int64_t /*first*/, Total& total) const {
    for (std::int64_t i = 0; i < count; ++i) {
      total = total.Times(ExactProduct::Of(x[i]));
    }
  }
  WideInteger Result(const Total& total) const { return total.Value(); }
};

void ProductPhase(const HostReduction& job, ReducePhase phase, std::int64_t begin, std::int64_t end) {
  const DataType type = job.params.x_type;
  const DataType accumulator = job.params.accumulator;
  if (!IsFloat(type)) {
    RunPhase(job, IntegerProduct{}, phase, begin, end);
  } else if (accumulator == DataType::kFp16 || accumulator == DataType::kBf16) {
    RunPhase(job, RoundedProduct{accumulator}, phase, begin, end);
  } else if (type == DataType::kFp64) {
    RunPhase(job, FloatProduct<double>{}, phase, begin, end);
  } else {
    RunPhase(job, FloatProduct<float>{}, phase, begin, end);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace kernelwire {
namespace {

HWY_EXPORT(ProductPhase);

}  // namespace

absl::Status RunProdHost(const Launch& launch, ParallelExecutor& threads) {
  return RunReduction(HostReduction(launch), HWY_DYNAMIC_DISPATCH(ProductPhase), threads);
}

}  // namespace kernelwire
#endif  // HWY_ONCE
