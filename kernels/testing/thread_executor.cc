#include "kernels/testing/thread_executor.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <vector>

namespace kernelwire::testing {

void ThreadExecutor::ParallelFor(std::int64_t count, std::int64_t grain,
                                 const std::function<void(std::int64_t, std::int64_t)>& body) {
  const std::int64_t length = std::max<std::int64_t>(grain, 1);
  const std::int64_t ranges = (count + length - 1) / length;
  std::atomic<std::int64_t> taken{0};
  const auto work = [&] {
    for (std::int64_t i = taken.fetch_add(1); i < ranges; i = taken.fetch_add(1)) {
      const std::int64_t begin = (ranges - 1 - i) * length;  // from the back: no order may be relied on
      body(begin, std::min(begin + length, count));
    }
  };
  std::vector<std::thread> threads;
  for (std::int64_t i = 1; i < std::min<std::int64_t>(threads_, ranges); ++i) {
    threads.emplace_back(work);
  }
  work();
  for (std::thread& thread : threads) {
    thread.join();
  }
}

}  // namespace kernelwire::testing
