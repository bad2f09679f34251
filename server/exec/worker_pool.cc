#include "server/exec/worker_pool.h"

#include <algorithm>
#include <utility>

#include "server/exec/thread_name.h"

namespace kernelwire {
namespace {

/// Threads woken by whoever joins a loop. Two of them make a tree: no thread spends its time waking all others.
constexpr int kWakes = 2;

}  // namespace

WorkerPool::WorkerPool(int threads, const std::string& name, std::chrono::nanoseconds spin,
                       std::chrono::nanoseconds worth_waking)
    : spin_(spin), worth_waking_(worth_waking) {
  threads_.reserve(static_cast<std::size_t>(threads));
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this, thread_name = name + "-" + std::to_string(i)] {
      NameThisThread(thread_name);
      Work();
    });
  }
}

WorkerPool::~WorkerPool() {
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    stopping_ = true;
    called_.store(true, std::memory_order_relaxed);
  }
  work_.notify_all();
  for (std::thread& thread : threads_) {
    thread.join();
  }
}

void WorkerPool::Post(std::function<void()> task) {
  const std::lock_guard<std::mutex> lock(mutex_);
  tasks_.push_back(std::move(task));
  WakeOne();
}

void WorkerPool::ParallelFor(std::int64_t count, std::int64_t grain,
                             const std::function<void(std::int64_t, std::int64_t)>& body) {
  if (count <= grain) {
    if (count > 0) {
      body(0, count);
    }
    return;
  }
  grain = std::max<std::int64_t>(grain, 1);
  Loop loop{SharedRange(count, grain, thread_count() + 1), &body};
  const auto start = std::chrono::steady_clock::now();
  bool follows = false;  // another loop, with no more between than a thread looks around for
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    loops_.push_back(&loop);
    follows = !CallSpinner() && start - last_loop_ < spin_;
  }
  if (const auto piece = loop.range.TakeShort(kCaller)) {  // the others may all be asleep: is it worth waking them?
    body(piece->begin, piece->end);
  }
  WakeHelpers(&loop, (std::chrono::steady_clock::now() - start) * (count / grain), follows);
  loop.Run(kCaller);
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    loops_.erase(std::find(loops_.begin(), loops_.end(), &loop));  // from here on nobody joins
    last_loop_ = std::chrono::steady_clock::now();
  }
  const auto alone = [&loop] { return loop.helpers.load(std::memory_order_acquire) == 0; };
  if (!Spin(alone)) {
    std::unique_lock<std::mutex> lock(mutex_);
    no_helpers_.wait(lock, alone);
  }
}

void WorkerPool::WakeHelpers(Loop* loop, std::chrono::nanoseconds alone_takes, bool follows) {
  if (alone_takes > worth_waking_) {
    const std::lock_guard<std::mutex> lock(mutex_);
    loop->worth_many = true;
    WakeSome();
  } else if (follows && alone_takes > kWorthSharing) {
    const std::lock_guard<std::mutex> lock(mutex_);
    WakeOne();
  }
}

void WorkerPool::Loop::Run(int thread) {
  while (const auto piece = range.Take(thread)) {
    (*body)(piece->begin, piece->end);
  }
}

void WorkerPool::Work() {
  std::unique_lock<std::mutex> lock(mutex_);
  while (true) {
    if (!tasks_.empty()) {  // before loops: a batch that waits has nobody, a loop has its caller
      const std::function<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    } else if (Loop* loop = LoopToHelp()) {
      Help(loop, &lock);
    } else if (stopping_) {
      return;
    } else {
      WaitForWork(&lock);
    }
  }
}

void WorkerPool::Help(Loop* loop, std::unique_lock<std::mutex>* lock) {
  loop->helpers.fetch_add(1, std::memory_order_relaxed);
  const int thread = loop->joined++;
  if (loop->worth_many) {
    WakeSome();
  }
  lock->unlock();
  loop->Run(thread);
  lock->lock();
  // Release: what this thread computed is seen by the caller. It may return, and its loop be gone, right after.
  if (loop->helpers.fetch_sub(1, std::memory_order_release) == 1) {
    no_helpers_.notify_all();
  }
}

void WorkerPool::WaitForWork(std::unique_lock<std::mutex>* lock) {
  if (!spinning_ && spin_.count() > 0) {  // one at a time: more would take the processor from who has work
    spinning_ = true;
    called_.store(false, std::memory_order_relaxed);
    lock->unlock();
    Spin([this] { return called_.load(std::memory_order_relaxed); });
    lock->lock();
    spinning_ = false;
  }
  if (!HasWork() && !stopping_) {
    ++sleepers_;
    work_.wait(*lock);  // woken for nothing, the thread looks around and comes back
    --sleepers_;
  }
}

/// Costs nothing, where waking a thread that sleeps is a system call. False: nobody spins, or it has been called.
bool WorkerPool::CallSpinner() {
  if (!spinning_ || called_.load(std::memory_order_relaxed)) {
    return false;
  }
  called_.store(true, std::memory_order_relaxed);
  return true;
}

void WorkerPool::WakeOne() {
  if (!CallSpinner() && sleepers_ > 0) {
    work_.notify_one();
  }
}

void WorkerPool::WakeSome() {
  for (int i = 0; i < kWakes; ++i) {
    WakeOne();
  }
}

bool WorkerPool::HasWork() const { return !tasks_.empty() || LoopToHelp() != nullptr; }

WorkerPool::Loop* WorkerPool::LoopToHelp() const {
  for (Loop* loop : loops_) {
    if (!loop->range.IsEmpty()) {
      return loop;
    }
  }
  return nullptr;
}

/// Gives the processor away between looks, so that a thread which has work and no processor comes first.
bool WorkerPool::Spin(const std::function<bool()>& until) const {
  if (until()) {
    return true;
  }
  const auto end = std::chrono::steady_clock::now() + spin_;
  while (std::chrono::steady_clock::now() < end) {
    std::this_thread::yield();
    if (until()) {
      return true;
    }
  }
  return false;
}

}  // namespace kernelwire
