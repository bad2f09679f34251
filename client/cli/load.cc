#include "client/cli/load.h"

#include <algorithm>
#include <memory>
#include <random>
#include <thread>
#include <utility>
#include <vector>

#include "kernelwire/pipeline.h"

namespace kernelwire::cli {
namespace {

using Clock = std::chrono::steady_clock;
using client::Pipeline;
using client::StatusCode;
using std::chrono::nanoseconds;

// Below this the network is looked at without waiting, since it waits in whole milliseconds.
constexpr nanoseconds kShortestWait = std::chrono::milliseconds(2);
constexpr nanoseconds kProgressInterval = std::chrono::milliseconds(100);

// When the calls of one thread are due.
class Arrivals {
 public:
  Arrivals(std::optional<double> rate, std::uint64_t seed, Clock::time_point start)
      : engine_(seed), gap_(rate.value_or(1)), open_(rate.has_value()), next_(start) {
    Advance();
  }

  bool open() const { return open_; }
  Clock::time_point next() const { return next_; }
  void Advance() {
    if (open_) {
      next_ += nanoseconds(static_cast<std::int64_t>(gap_(engine_) * 1e9));
    }
  }

 private:
  std::mt19937_64 engine_;
  std::exponential_distribution<double> gap_;  // seconds
  bool open_;
  Clock::time_point next_;
};

// One thread's part of the load.
class Worker {
 public:
  Worker(const client::Client& client, const client::EncodedRequest& request, const LoadPlan& plan,
         std::uint64_t number, Clock::time_point start)
      : pipeline_(client, plan.method),
        request_(request),
        plan_(plan),
        counted_from_(start + plan.warm_up),
        until_(counted_from_ + plan.duration),
        arrivals_(plan.rate, plan.seed + number, start),
        last_reply_(counted_from_) {
    due_.reserve(static_cast<std::size_t>(plan.outstanding));
  }

  void Run(const Progress& progress) {
    Clock::time_point now = Clock::now();
    Clock::time_point report = now;
    while (MayStart(now) || pipeline_.outstanding() > 0) {
      StartWhatIsDue(now);
      if (const auto done = pipeline_.Next(WaitFor(now))) {
        Count(*done);
      }
      now = Clock::now();
      if (progress != nullptr && now >= report) {
        progress(Share(now), calls_);
        report = now + kProgressInterval;
      }
    }
    result_.elapsed = last_reply_ - counted_from_;
  }

  LoadResult& result() { return result_; }

 private:
  bool MayStart(Clock::time_point now) const {
    return plan_.requests.has_value() ? counted_ < *plan_.requests : now < until_;
  }
  bool HasRoom() const { return pipeline_.outstanding() < static_cast<std::size_t>(plan_.outstanding); }

  void StartWhatIsDue(Clock::time_point now) {
    while (MayStart(now) && HasRoom() && (!arrivals_.open() || arrivals_.next() <= now)) {
      Start(arrivals_.open() ? arrivals_.next() : Clock::now());
      arrivals_.Advance();
    }
  }

  void Start(Clock::time_point due) {
    if (free_.empty()) {
      free_.push_back(due_.size());
      due_.emplace_back();
    }
    const std::size_t place = free_.back();
    free_.pop_back();
    due_[place] = due;
    counted_ += due >= counted_from_;
    pipeline_.Start(request_, plan_.timeout, place);
  }

  nanoseconds WaitFor(Clock::time_point now) const {
    if (!arrivals_.open() || !MayStart(now) || !HasRoom()) {
      return kProgressInterval;
    }
    const nanoseconds wait = arrivals_.next() - now;
    return wait < kShortestWait ? nanoseconds(0) : wait - kShortestWait / 2;
  }

  void Count(const Pipeline::Completion& done) {
    const Clock::time_point due = due_[done.tag()];
    free_.push_back(static_cast<std::size_t>(done.tag()));
    if (due < counted_from_) {
      return;
    }
    last_reply_ = Clock::now();
    ++calls_;
    ++result_.codes[done.status().code()];
    if (done.status().ok()) {
      result_.latency.Add(last_reply_ - due);
      result_.reply_bytes += done.reply_bytes();
    } else if (result_.first_failure.ok()) {
      result_.first_failure = done.status();
    }
  }

  double Share(Clock::time_point now) const {
    if (plan_.requests.has_value()) {
      return static_cast<double>(calls_) / static_cast<double>(*plan_.requests);
    }
    const std::chrono::duration<double> left = until_ - now;
    const std::chrono::duration<double> all = plan_.warm_up + plan_.duration;
    return std::clamp(1 - left / all, 0.0, 1.0);
  }

  Pipeline pipeline_;
  const client::EncodedRequest request_;
  const LoadPlan plan_;
  const Clock::time_point counted_from_;
  const Clock::time_point until_;
  Arrivals arrivals_;
  std::vector<Clock::time_point> due_;  // by tag
  std::vector<std::size_t> free_;       // tags
  std::int64_t counted_ = 0;            // calls started after the warm-up
  std::uint64_t calls_ = 0;             // those of them that have ended
  Clock::time_point last_reply_;
  LoadResult result_;
};

// The part of thread `number`: counts are divided without losing the remainder.
LoadPlan ShareOf(const LoadPlan& plan, std::int64_t number) {
  const auto divide = [&plan, number](std::int64_t whole) {
    return whole / plan.threads + (number < whole % plan.threads ? 1 : 0);
  };
  LoadPlan share = plan;
  share.outstanding = divide(plan.outstanding);
  if (plan.requests.has_value()) {
    share.requests = divide(*plan.requests);
  }
  if (plan.rate.has_value()) {
    share.rate = *plan.rate / static_cast<double>(plan.threads);
  }
  return share;
}

void Merge(LoadResult& part, LoadResult* whole) {
  whole->latency.Merge(part.latency);
  for (const auto& [code, calls] : part.codes) {
    whole->codes[code] += calls;
  }
  if (whole->first_failure.ok()) {
    whole->first_failure = std::move(part.first_failure);
  }
  whole->reply_bytes += part.reply_bytes;
  whole->elapsed = std::max(whole->elapsed, part.elapsed);
}

}  // namespace

std::uint64_t LoadResult::succeeded() const { return latency.count(); }

std::uint64_t LoadResult::failed() const {
  std::uint64_t calls = 0;
  for (const auto& [code, count] : codes) {
    calls += code == StatusCode::kOk ? 0 : count;
  }
  return calls;
}

LoadResult RunLoad(const client::Client& client, const client::EncodedRequest& request, const LoadPlan& plan,
                   const Progress& progress) {
  const Clock::time_point start = Clock::now();
  std::vector<std::unique_ptr<Worker>> workers;
  for (std::int64_t i = 0; i < plan.threads; ++i) {
    workers.push_back(
        std::make_unique<Worker>(client, request, ShareOf(plan, i), static_cast<std::uint64_t>(i), start));
  }
  std::vector<std::thread> threads;
  for (std::size_t i = 1; i < workers.size(); ++i) {
    threads.emplace_back([&worker = *workers[i]] { worker.Run(nullptr); });
  }
  workers[0]->Run(progress);
  for (std::thread& thread : threads) {
    thread.join();
  }
  LoadResult result;
  for (const auto& worker : workers) {
    Merge(worker->result(), &result);
  }
  return result;
}

}  // namespace kernelwire::cli
