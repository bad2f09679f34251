// Early return on an error, for functions that return absl::Status or absl::StatusOr.
#ifndef KERNELWIRE_KERNELS_CORE_STATUS_MACROS_H_
#define KERNELWIRE_KERNELS_CORE_STATUS_MACROS_H_

#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

#define KERNELWIRE_RETURN_IF_ERROR(expression)        \
  do {                                                \
    absl::Status status_of_expression = (expression); \
    if (!status_of_expression.ok()) {                 \
      return status_of_expression;                    \
    }                                                 \
  } while (false)

#define KERNELWIRE_CONCAT_INNER(a, b) a##b
#define KERNELWIRE_CONCAT(a, b) KERNELWIRE_CONCAT_INNER(a, b)

/// KERNELWIRE_ASSIGN_OR_RETURN(auto value, Compute());
#define KERNELWIRE_ASSIGN_OR_RETURN(declaration, expression)            \
  auto KERNELWIRE_CONCAT(status_or_, __LINE__) = (expression);          \
  if (!KERNELWIRE_CONCAT(status_or_, __LINE__).ok()) {                  \
    return std::move(KERNELWIRE_CONCAT(status_or_, __LINE__)).status(); \
  }                                                                     \
  declaration = *std::move(KERNELWIRE_CONCAT(status_or_, __LINE__))

#endif  // KERNELWIRE_KERNELS_CORE_STATUS_MACROS_H_
