// A weight or bias on the host: a block at a time, in the accumulation type. Included once per Highway target, after
// foreach_target.
#if defined(KERNELWIRE_KERNELS_PRIMITIVES_ROW_PARAMETER_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef KERNELWIRE_KERNELS_PRIMITIVES_ROW_PARAMETER_INL_H_
#undef KERNELWIRE_KERNELS_PRIMITIVES_ROW_PARAMETER_INL_H_
#else
#define KERNELWIRE_KERNELS_PRIMITIVES_ROW_PARAMETER_INL_H_
#endif

#include <algorithm>
#include <cstdint>

#include "hwy/highway.h"
#include "kernels/primitives/row_block-inl.h"
#include "kernels/primitives/row_parameter.h"

HWY_BEFORE_NAMESPACE();
namespace kernelwire {
namespace HWY_NAMESPACE {

/// One parameter of one request.
template <typename Acc>
class BlockParameter {
 public:
  /// `word`: of Segment::extents. `absent`: what a parameter that was left out counts as.
  BlockParameter(std::int64_t word, const void* data, Acc absent, std::int64_t width)
      : data_(data), parameter_(UnpackRowParameter(word)) {
    if (parameter_.kind != RowParameterKind::kRow) {  // one block of it serves all
      const bool one = parameter_.kind == RowParameterKind::kOne;
      const Acc value = one ? static_cast<Acc>(ReadScalar(parameter_.dtype, data, 0)) : absent;
      std::fill_n(buffer_.values, std::min(width, kBlock), value);
      whole_ = buffer_.values;
    } else if (width <= kBlock) {  // converted once for all rows
      whole_ = LoadBlock(parameter_.dtype, data, width, buffer_.values);
    }
  }
  BlockParameter(const BlockParameter&) = delete;
  BlockParameter& operator=(const BlockParameter&) = delete;

  /// Elements [first, first + count) of the row. Valid until the next call. Requires: count <= kBlock; `first` is a
  /// multiple of kBlock.
  const Acc* Block(std::int64_t first, std::int64_t count) {
    return whole_ != nullptr ? whole_
                             : LoadBlock(parameter_.dtype, At(parameter_.dtype, data_, first), count, buffer_.values);
  }

 private:
  const void* data_;
  RowParameter parameter_;
  const Acc* whole_ = nullptr;
  BlockBuffer<Acc> buffer_;
};

}  // namespace HWY_NAMESPACE
}  // namespace kernelwire
HWY_AFTER_NAMESPACE();

#endif  // toggling guard
