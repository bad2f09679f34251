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
#include "server/exec/shared_range.h"

namespace kernelwire {

/// Thread-safe.
class WorkerPool final : public ParallelExecutor {
 public:
  /// How long one idle thread looks for work before it sleeps. Measured on two cores: a task begins 1.4 us after Post
  /// when a thread is looking, and 5 to 10 us (95th percentile 10 to 45) when one has to be woken, which also costs the
  /// posting thread 3 to 5 us. 20 us bridge the gaps of a busy server; 50 and 200 us gained nothing there, and took two
  /// and five times the processor time of a quiet one.
  static constexpr std::chrono::microseconds kSpin{20};

  /// A loop that takes its caller less than this is over before a thread that was woken for it has done its share.
  static constexpr std::chrono::microseconds kWorthWaking{50};
  /// Loops that follow one another closely, though, keep a thread looking for the next, which it may join at once:
  /// those of this length gain by it, and one thread is woken for their sake. With 5 us a server whose cores were all
  /// busy with small batches answered a tenth fewer calls; with 10 us as many as with none woken.
  static constexpr std::chrono::microseconds kWorthSharing{10};

  /// Starts `threads` (>= 1) threads, called `name`-0 and so on.
  WorkerPool(int threads, const std::string& name, std::chrono::nanoseconds spin = kSpin,
             std::chrono::nanoseconds worth_waking = kWorthWaking);
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
  /// One call of ParallelFor, on its caller's stack. Listed in loops_ while there is something to take.
  struct Loop {
    SharedRange range;
    const std::function<void(std::int64_t, std::int64_t)>* body;
    std::atomic<int> helpers{0};  // written under mutex_; read also by the spinning caller

    // Under mutex_:
    int joined = 1;           // threads so far, with the caller
    bool worth_many = false;  // threads: those that join wake others

    /// Takes pieces as `thread` until there are none.
    void Run(int thread);
  };

  static constexpr int kCaller = 0;  // of a loop: its number among those that joined

  void WakeHelpers(Loop* loop, std::chrono::nanoseconds alone_takes, bool follows);
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
  const std::chrono::nanoseconds worth_waking_;

  std::mutex mutex_;
  std::condition_variable work_;        // threads asleep
  std::condition_variable no_helpers_;  // callers of ParallelFor asleep
  std::deque<std::function<void()>> tasks_;
  std::vector<Loop*> loops_;
  std::chrono::steady_clock::time_point last_loop_;  // when the last loop ended
  bool stopping_ = false;
  bool spinning_ = false;            // one thread looks for work without sleeping
  std::atomic<bool> called_{false};  // and it has been given some
  int sleepers_ = 0;

  std::vector<std::thread> threads_;  // last: they use all of the above
};

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_EXEC_WORKER_POOL_H_
