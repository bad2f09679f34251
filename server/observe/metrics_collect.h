// From the shards' counts to the families of a scrape.
#ifndef KERNELWIRE_SERVER_OBSERVE_METRICS_COLLECT_H_
#define KERNELWIRE_SERVER_OBSERVE_METRICS_COLLECT_H_

#include <string>
#include <vector>

#include "prometheus/metric_family.h"
#include "server/observe/metrics_shards.h"

namespace kernelwire {

/// "OK", "INVALID_ARGUMENT": the `code` label. `code` is within [0, kCodeCount).
std::string CodeLabel(int code);

/// The histograms of requests, stages and batches, and the error counter, of every shard of the set.
///
/// What is there from the first scrape on, at 0: errors of every code, and each operator's requests of code OK. Series
/// of another code come with the first such request, stages and batches of an operator with its first request or batch:
/// the scrape grows with what is used, not with the catalogue.
std::vector<prometheus::MetricFamily> CollectRequestFamilies(const std::vector<std::string>& operators,
                                                             const MetricsShardSet& shards);

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_OBSERVE_METRICS_COLLECT_H_
