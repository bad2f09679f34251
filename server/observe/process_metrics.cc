#include "server/observe/process_metrics.h"

#include <dirent.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdint>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace kernelwire {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;

/// The fields of /proc/self/stat that we want; times in ticks, memory in bytes and pages.
struct ProcessStat {
  std::uint64_t user_ticks = 0;
  std::uint64_t system_ticks = 0;
  std::uint64_t start_ticks = 0;  // since boot
  std::uint64_t threads = 0;
  std::uint64_t virtual_bytes = 0;
  std::uint64_t resident_pages = 0;
};

/// Fields are counted from 1 as in proc(5). The second is the program's name in parentheses and may hold anything, so
/// the rest is read from the last closing one.
std::optional<ProcessStat> ReadStat() {
  std::ifstream file("/proc/self/stat");
  std::string line;
  if (!std::getline(file, line) || line.rfind(')') == std::string::npos) {
    return std::nullopt;
  }
  std::istringstream rest(line.substr(line.rfind(')') + 1));
  ProcessStat stat;
  std::string field;
  for (int number = 3; number <= 24 && rest >> field; ++number) {
    switch (number) {
      case 14:
        stat.user_ticks = std::stoull(field);
        break;
      case 15:
        stat.system_ticks = std::stoull(field);
        break;
      case 20:
        stat.threads = std::stoull(field);
        break;
      case 22:
        stat.start_ticks = std::stoull(field);
        break;
      case 23:
        stat.virtual_bytes = std::stoull(field);
        break;
      case 24:
        stat.resident_pages = std::stoull(field);
        return stat;
      default:
        break;
    }
  }
  return std::nullopt;
}

/// Seconds since the epoch at which the machine started.
std::optional<double> ReadBootTime() {
  std::ifstream file("/proc/stat");
  std::string word;
  double seconds = 0;
  while (file >> word) {
    if (word == "btime" && file >> seconds) {
      return seconds;
    }
  }
  return std::nullopt;
}

std::optional<double> CountOpenDescriptors() {
  DIR* directory = opendir("/proc/self/fd");
  if (directory == nullptr) {
    return std::nullopt;
  }
  int entries = 0;
  while (readdir(directory) != nullptr) {
    ++entries;
  }
  closedir(directory);
  return entries - 3;  // ".", ".." and the descriptor that the listing itself holds
}

void Add(const char* name, const char* help, MetricType type, std::optional<double> value,
         std::vector<MetricFamily>* families) {
  if (!value.has_value()) {
    return;
  }
  MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = type;
  family.metric.resize(1);
  family.metric[0].counter.value = *value;
  family.metric[0].gauge.value = *value;
  families->push_back(family);
}

void AddStat(std::vector<MetricFamily>* families) {
  const std::optional<ProcessStat> stat = ReadStat();
  if (!stat.has_value()) {
    return;
  }
  const double ticks_per_second = static_cast<double>(sysconf(_SC_CLK_TCK));
  const double page_bytes = static_cast<double>(sysconf(_SC_PAGESIZE));
  Add("process_cpu_seconds_total", "User and system CPU time spent.", MetricType::Counter,
      static_cast<double>(stat->user_ticks + stat->system_ticks) / ticks_per_second, families);
  Add("process_resident_memory_bytes", "Resident memory.", MetricType::Gauge,
      static_cast<double>(stat->resident_pages) * page_bytes, families);
  Add("process_virtual_memory_bytes", "Virtual memory.", MetricType::Gauge, static_cast<double>(stat->virtual_bytes),
      families);
  Add("process_threads", "Threads of the process.", MetricType::Gauge, static_cast<double>(stat->threads), families);
  if (const std::optional<double> boot_time = ReadBootTime()) {
    Add("process_start_time_seconds", "Start of the process, in seconds since the epoch.", MetricType::Gauge,
        *boot_time + static_cast<double>(stat->start_ticks) / ticks_per_second, families);
  }
}

}  // namespace

std::vector<MetricFamily> CollectProcessFamilies() {
  std::vector<MetricFamily> families;
  AddStat(&families);
  Add("process_open_fds", "Open file descriptors.", MetricType::Gauge, CountOpenDescriptors(), &families);
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    Add("process_max_fds", "Most file descriptors that may be open.", MetricType::Gauge,
        static_cast<double>(limit.rlim_cur), &families);
  }
  return families;
}

}  // namespace kernelwire
