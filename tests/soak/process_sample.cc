#include "tests/soak/process_sample.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace kernelwire::soak {
ProcessSample SampleProcess(int pid) {
  const std::string folder = "/proc/" + std::to_string(pid);
  ProcessSample sample{-1, -1, -1, -1};
  std::ifstream status(folder + "/status");
  for (std::string line; std::getline(status, line);) {
    const auto read = [&line](const std::string& name, std::int64_t* value) {
      if (line.compare(0, name.size(), name) == 0) {
        *value = std::stoll(line.substr(name.size()));
      }
    };
    read("VmRSS:", &sample.resident_kib);
    read("RssAnon:", &sample.anonymous_kib);
    read("Threads:", &sample.threads);
  }
  std::error_code error;
  std::filesystem::directory_iterator files(folder + "/fd", error);
  if (!error) {
    sample.descriptors = std::distance(begin(files), end(files));
  }
  return sample;
}

}  // namespace kernelwire::soak
