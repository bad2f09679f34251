// That loops cover their range exactly once, whoever helps, and that nobody waits for a thread that cannot come.
#include "server/exec/worker_pool.h"

#include <gtest/gtest.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <random>
#include <utility>

namespace kernelwire {
namespace {

/// Counts down to 0 and lets threads wait for it.
class Countdown {
 public:
  explicit Countdown(int count) : count_(count) {}
  void Done() {
    const std::lock_guard<std::mutex> lock(mutex_);
    --count_;
    zero_.notify_all();
  }
  void Wait() {
    std::unique_lock<std::mutex> lock(mutex_);
    zero_.wait(lock, [this] { return count_ <= 0; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable zero_;
  int count_;
};

void WorkFor(std::chrono::nanoseconds duration) {
  const auto end = std::chrono::steady_clock::now() + duration;
  while (std::chrono::steady_clock::now() < end) {
  }
}

/// Runs a loop and holds it to its promise: every index once, ranges no shorter than the grain but for the last.
void CheckLoop(WorkerPool& pool, std::int64_t count, std::int64_t grain) {
  std::vector<std::atomic<int>> visits(static_cast<std::size_t>(count));
  std::atomic<int> short_ranges{0};
  pool.ParallelFor(count, grain, [&](std::int64_t begin, std::int64_t end) {
    if (end - begin < grain && end != count) {
      short_ranges.fetch_add(1);
    }
    for (std::int64_t i = begin; i < end; ++i) {
      visits[static_cast<std::size_t>(i)].fetch_add(1, std::memory_order_relaxed);
    }
  });
  EXPECT_EQ(short_ranges, 0);
  for (const std::atomic<int>& visit : visits) {
    ASSERT_EQ(visit.load(std::memory_order_relaxed), 1) << "count " << count << ", grain " << grain;
  }
}

TEST(WorkerPoolTest, LoopsVisitEveryIndexOnce) {
  for (const int threads : {1, 2, 5}) {
    WorkerPool pool(threads, "test");
    std::mt19937 random(static_cast<std::uint32_t>(threads));
    for (int round = 0; round < 300; ++round) {
      CheckLoop(pool, static_cast<std::int64_t>(random() % 3000), static_cast<std::int64_t>(random() % 200));
    }
  }
}

TEST(WorkerPoolTest, ResultsOfHelpersAreSeenByTheCaller) {
  WorkerPool pool(3, "test");
  std::vector<int> squares(10000);  // plain memory: a missing barrier is a race that the thread sanitizer sees
  for (int round = 0; round < 50; ++round) {
    pool.ParallelFor(10000, 64, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t i = begin; i < end; ++i) {
        squares[static_cast<std::size_t>(i)] = static_cast<int>(i) * 3 + round;
      }
    });
    for (int i = 0; i < 10000; ++i) {
      ASSERT_EQ(squares[static_cast<std::size_t>(i)], i * 3 + round);
    }
  }
}

TEST(WorkerPoolTest, IdleThreadsHelp) {
  for (const std::chrono::microseconds spin : {std::chrono::microseconds(0), std::chrono::microseconds(200)}) {
    WorkerPool pool(2, "test", spin);
    for (int round = 0; round < 20; ++round) {
      Countdown inside(3);  // nobody leaves before the caller and both threads are in
      const std::thread::id caller = std::this_thread::get_id();
      bool first = true;
      pool.ParallelFor(100, 1, [&](std::int64_t, std::int64_t) {
        if (std::this_thread::get_id() == caller && std::exchange(first, false)) {
          WorkFor(std::chrono::milliseconds(1));  // by which the caller sees that the loop is worth waking others
          return;
        }
        inside.Done();
        inside.Wait();
      });
    }
  }
}

TEST(WorkerPoolTest, LoopsThatFollowOneAnotherAreShared) {
  constexpr std::chrono::hours kNever{1};
  WorkerPool pool(1, "test", WorkerPool::kSpin, kNever);  // no loop is worth waking a thread for its own sake
  WorkFor(std::chrono::milliseconds(5));                  // by which nobody looks for work any more
  const std::thread::id caller = std::this_thread::get_id();
  std::atomic<bool> helped{false};
  for (int loop = 0; loop < 100000 && !helped; ++loop) {
    pool.ParallelFor(20, 1, [&](std::int64_t begin, std::int64_t end) {
      WorkFor((end - begin) * std::chrono::microseconds(1));
      if (std::this_thread::get_id() != caller) {
        helped = true;
      }
    });
  }
  EXPECT_TRUE(helped);
}

TEST(WorkerPoolTest, LoopsEndWhenAllThreadsAreBusy) {
  WorkerPool pool(2, "test");
  Countdown busy(2);
  Countdown let_go(1);
  Countdown gone(2);
  for (int i = 0; i < 2; ++i) {
    pool.Post([&] {
      busy.Done();
      let_go.Wait();
      gone.Done();
    });
  }
  busy.Wait();
  CheckLoop(pool, 1000, 1);
  let_go.Done();
  gone.Wait();
}

TEST(WorkerPoolTest, LoopsInsideEveryTaskAtOnce) {
  constexpr int kTasks = 200;
  WorkerPool pool(3, "test");
  Countdown done(kTasks);
  for (int i = 0; i < kTasks; ++i) {
    pool.Post([&, i] {
      CheckLoop(pool, 10 + i * 7, i % 9);
      done.Done();
    });
  }
  CheckLoop(pool, 5000, 10);  // and one from outside
  done.Wait();
}

TEST(WorkerPoolTest, TasksMayPost) {
  WorkerPool pool(2, "test");
  Countdown done(100);
  std::function<void(int)> chain = [&](int left) {
    done.Done();
    if (left > 1) {
      pool.Post([&chain, left] { chain(left - 1); });
    }
  };
  pool.Post([&chain] { chain(100); });
  done.Wait();
}

TEST(WorkerPoolTest, ThePoolRunsWhatWasPostedBeforeItGoes) {
  for (int round = 0; round < 100; ++round) {
    std::atomic<int> ran{0};
    {
      WorkerPool pool(1 + round % 3, "test", std::chrono::microseconds(round % 2 == 0 ? 0 : 20));
      for (int i = 0; i < round; ++i) {
        pool.Post([&] { ran.fetch_add(1); });
      }
    }
    EXPECT_EQ(ran, round);
  }
}

TEST(WorkerPoolTest, ManyThreadsPostAtOnce) {
  constexpr int kPosters = 4;
  constexpr int kEach = 2000;
  WorkerPool pool(2, "test");
  Countdown done(kPosters * kEach);
  std::vector<std::thread> posters;
  for (int p = 0; p < kPosters; ++p) {
    posters.emplace_back([&] {
      for (int i = 0; i < kEach; ++i) {
        pool.Post([&] { done.Done(); });
      }
    });
  }
  for (std::thread& poster : posters) {
    poster.join();
  }
  done.Wait();
}

}  // namespace
}  // namespace kernelwire
