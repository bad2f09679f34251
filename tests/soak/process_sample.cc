#include "tests/soak/process_sample.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

namespace kernelwire::soak {
namespace {

constexpr std::int64_t kStagingKib = 256 * 1024;

std::int64_t StagingKib(const std::string& folder) {
  std::ifstream mappings(folder + "/smaps");
  std::int64_t sum = 0;
  std::int64_t size = 0;
  bool named = false;
  for (std::string line; std::getline(mappings, line);) {
    if (line.compare(0, 5, "Size:") == 0) {
      size = std::stoll(line.substr(5));
    } else if (line.compare(0, 4, "Rss:") == 0) {
      sum += !named && size >= kStagingKib ? std::stoll(line.substr(4)) : 0;
    } else if (line.find('-') < line.find(' ')) {  // "from-to rwxp offset device inode  name"
      named = line.find_first_of("/[") != std::string::npos;
    }
  }
  return sum;
}

}  // namespace

ProcessSample SampleProcess(int pid) {
  const std::string folder = "/proc/" + std::to_string(pid);
  ProcessSample sample{-1, -1, -1, -1, -1};
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
  sample.staging_kib = StagingKib(folder);
  std::error_code error;
  std::filesystem::directory_iterator files(folder + "/fd", error);
  if (!error) {
    sample.descriptors = std::distance(begin(files), end(files));
  }
  return sample;
}

}  // namespace kernelwire::soak
