// Uses each public header, and expects that a port without a server is UNAVAILABLE.
#include <chrono>
#include <iostream>
#include <vector>

#include "kernelwire/client.h"
#include "kernelwire/operators.h"
#include "kernelwire/pipeline.h"
#include "open_inference.pb.h"

int main() {
  using namespace std::chrono_literals;
  namespace client = kernelwire::client;
  std::cout << "kernelwire client " << client::Version() << '\n';
  client::ClientOptions options;
  options.retry.max_attempts = 1;
  const client::Client nobody = client::Client::Connect("127.0.0.1:1", options);

  const std::vector<float> x = {1, 2, 3, 4};
  const client::Status status = client::Softmax(nobody, client::View(x, {2, 2}), {}, 10s).status();
  std::cout << "softmax: " << status.ToString() << '\n';
  client::DetectionInputs inputs;
  inputs.predictions = client::View(x, {1, 4});
  const client::Status detection = client::DetectionPostprocess(nobody, inputs, {}, 10s).status();
  std::cout << "detection_postprocess: " << detection.ToString() << '\n';
  const client::Status listing = nobody.RepositoryIndex(10s).status();
  std::cout << "index: " << listing.ToString() << '\n';
  client::Pipeline pipeline(nobody);
  bool unavailable = true;
  for (const client::Status& one : {status, detection, listing}) {
    unavailable = unavailable && one.code() == client::StatusCode::kUnavailable;
  }
  return unavailable && !pipeline.Next(0ns).has_value() ? 0 : 1;
}
