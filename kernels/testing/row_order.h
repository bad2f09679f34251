// What the tests of the order in which a row's elements are combined share: operators, tensors and parts of them.
#ifndef KERNELWIRE_KERNELS_TESTING_ROW_ORDER_H_
#define KERNELWIRE_KERNELS_TESTING_ROW_ORDER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/testing/case.h"

namespace kernelwire::testing {

inline constexpr std::uint64_t kRowSeed = 7;

/// An operator of rows of one type: its first inputs have rows, those after them are parameters as wide as a row.
struct RowOrder {
  const char* op;
  int row_inputs;
  int parameters;
  DataType dtype;
};

/// Each row-wise operator in each type that has kernels of its own.
std::vector<RowOrder> RowOrders();
/// Of letters, digits and underscores.
std::string NameOf(const RowOrder& order);

/// Random elements over and over, a prime number of them: no two rows are alike, and the first ones are the same
/// however many follow.
HostTensor FirstRows(DataType dtype, std::int64_t rows, std::int64_t width, std::uint64_t seed);

/// Numbers whose squares leave f32; sums of two do not.
std::vector<double> HugeValues(std::int64_t count);

/// A request of such rows, named after them, and the first `parameters` of its parameters; or all.
OperatorCase CaseOfRows(const RowOrder& order, std::int64_t rows, std::int64_t width, int parameters);
OperatorCase CaseOfRows(const RowOrder& order, std::int64_t rows, std::int64_t width);

/// The same request of no rows but `count` from `first` on.
OperatorCase RowsAmong(const OperatorCase& all, const RowOrder& order, std::int64_t first, std::int64_t count);

}  // namespace kernelwire::testing

#endif  // KERNELWIRE_KERNELS_TESTING_ROW_ORDER_H_
