// What a running process holds, from /proc.
#ifndef KERNELWIRE_TESTS_SOAK_PROCESS_SAMPLE_H_
#define KERNELWIRE_TESTS_SOAK_PROCESS_SAMPLE_H_

#include <cstdint>

namespace kernelwire::soak {

struct ProcessSample {
  std::int64_t resident_kib = 0;   // VmRSS: all of it
  std::int64_t anonymous_kib = 0;  // RssAnon: heap and stacks, without the pages of files
  std::int64_t threads = 0;
  std::int64_t descriptors = 0;
};

/// All -1 for a process that is gone, or not ours to look at.
ProcessSample SampleProcess(int pid);

}  // namespace kernelwire::soak

#endif  // KERNELWIRE_TESTS_SOAK_PROCESS_SAMPLE_H_
