// Threads of the host device: they run whole batches, and the idle ones help those that are inside a parallel loop.
#ifndef KERNELWIRE_SERVER_EXEC_WORKER_POOL_H_
#define KERNELWIRE_SERVER_EXEC_WORKER_POOL_H_

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "kernels/core/operator.h"

namespace kernelwire {

/// Thread-safe.
class WorkerPool final : public ParallelExecutor {
 public:
  /// How long one idle thread looks for work before it sleeps. Measured on two cores: a task begins 1.4 us after Post
  /// when a thread is looking, and 5 to 10 us (95th percentile 10 to 45) when one has to be woken, which also costs the
  /// posting thread 3 to 5 us. 20 us bridge the gaps of a busy server; 50 and 200 us gained nothing there, and took two
  /// and five times the processor time of a quiet one.
  static constexpr std::chrono::microseconds kSpin{20};

  /// Starts `threads` (>= 1) threads, called `name`-0 and so on.
  WorkerPool(int threads, const std::string& name, std::chrono::nanoseconds spin = kSpin);
  /// Runs what was posted, then joins. Nobody may be inside ParallelFor or Post but the pool's own threads.
  ~WorkerPool() override;
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// Runs `task` on one of the threads, in the order of posting. A task may post and may call ParallelFor.
  void Post(std::function<void()> task);

  /// From any thread, the pool's or not. The caller works too, and alone if all threads are busy: it waits for nobody
  /// but helpers that are in the middle of a range.
  void ParallelFor(std::int64_t count, std::int64_t grain,
                   const std::function<void(std::int64_t, std::int64_t)>& body) override;

  int thread_count() const { return static_cast<int>(threads_.size()); }

 private:
  /// One call of ParallelFor, on its caller's stack. Listed in loops_ while ranges are left.
  struct Loop {
    std::int64_t count;
    std::int64_t grain;   // indices of the shortest range
    std::int64_t shares;  // a range is this part of what is left
    const std::function<void(std::int64_t, std::int64_t)>* body;
    std::atomic<std::int64_t> next{0};
    std::atomic<int> helpers{0};  // written under mutex_; read also by the spinning caller

    bool worth_waking = false;  // under mutex_

    bool HasRanges() const { return next.load(std::memory_order_relaxed) < count; }
    bool RunRange(std::int64_t most);  // of at most so many indices; false: none was left
    void RunRanges();
  };

  void Work();
  void Help(Loop* loop, std::unique_lock<std::mutex>* lock);
  void WaitForWork(std::unique_lock<std::mutex>* lock);
  bool Spin(const std::function<bool()>& until) const;
  // The five below: with mutex_ held.
  bool HasWork() const;
  Loop* LoopToHelp() const;
  bool CallSpinner();
  void WakeOne();
  void WakeSome();

  const std::chrono::nanoseconds spin_;

  std::mutex mutex_;
  std::condition_variable work_;        // threads asleep
  std::condition_variable no_helpers_;  // callers of ParallelFor asleep
  std::deque<std::function<void()>> tasks_;
  std::vector<Loop*> loops_;
  bool stopping_ = false;
  bool spinning_ = false;            // one thread looks for work without sleeping
  std::atomic<bool> called_{false};  // and it has been given some
  int sleepers_ = 0;

  std::vector<std::thread> threads_;  // last: they use all of the above
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_EXEC_WORKER_POOL_H_
