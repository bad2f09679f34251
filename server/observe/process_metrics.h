// What Prometheus expects to know of any process: CPU time, memory, descriptors, start time, under the usual names.
#ifndef KERNELWIRE_SERVER_OBSERVE_PROCESS_METRICS_H_
#define KERNELWIRE_SERVER_OBSERVE_PROCESS_METRICS_H_

#include <vector>

#include "prometheus/metric_family.h"

namespace kernelwire {

/// Read from /proc at the call; what cannot be read is left out. Thread-safe.
std::vector<prometheus::MetricFamily> CollectProcessFamilies();

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_OBSERVE_PROCESS_METRICS_H_
