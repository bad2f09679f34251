// The proof, before the first request, that every operator computes on every device what it should.
#ifndef KERNELWIRE_SERVER_SELF_TEST_H_
#define KERNELWIRE_SERVER_SELF_TEST_H_

#include <chrono>
#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "kernels/core/operator.h"
#include "server/batch/clock.h"
#include "server/batch/scheduler.h"

namespace kernelwire {

/// Sends the known answer of one operator through the scheduler to the device of that index (`device_name` is for
/// messages), as a client's request would go, and compares: integers must be equal, floating-point results within the
/// known answer's tolerance. Waits for the result, `patience` at the longest.
/// Requires: scheduler and poller run. After DEADLINE_EXCEEDED the device may still be writing: the process has to end.
/// Errors: INTERNAL that names operator, device, output and element, what was expected and what came; the error of the
/// plan or of the run; DEADLINE_EXCEEDED.
absl::Status TestOperator(const Operator& op, std::uint32_t op_index, std::size_t device,
                          const std::string& device_name, Scheduler* scheduler, std::chrono::seconds patience);

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_SELF_TEST_H_
