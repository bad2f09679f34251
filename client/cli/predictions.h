// From a detector's raw output, a NumPy array, to final detections, through the server's `detection_postprocess`.
#ifndef KERNELWIRE_CLIENT_CLI_PREDICTIONS_H_
#define KERNELWIRE_CLIENT_CLI_PREDICTIONS_H_

#include <utility>
#include <vector>

#include "client/cli/arguments.h"
#include "client/cli/detections.h"
#include "client/cli/npy.h"
#include "kernelwire/client.h"
#include "kernelwire/infer.h"
#include "kernelwire/status.h"

namespace kernelwire::cli {

/// Options that only predictions have, for a command's table, and those of them that were given, by name.
std::vector<Option> PredictionOptions();
std::vector<std::string> GivenPredictionOptions(const Arguments& arguments);

/// The attributes that the command line asks for.
std::vector<std::pair<std::string, client::ParameterValue>> PredictionAttributes(const Arguments& arguments);

/// The reply for `predictions` as detections, images numbered from 0. Errors: INTERNAL for a reply that does not fit.
client::Result<Detections> DetectionsOf(const Array& predictions, const std::string& layout, client::InferReply& reply);

/// Sends the predictions. Requires: --layout was given. Errors: those of Client::Infer and of DetectionsOf.
client::Result<Detections> Postprocess(const client::Client& client, const Arguments& arguments,
                                       const Array& predictions, client::Timeout timeout);

}  // namespace kernelwire::cli

#endif  // KERNELWIRE_CLIENT_CLI_PREDICTIONS_H_
