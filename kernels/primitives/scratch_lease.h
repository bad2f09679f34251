// Scratch on the host that stays with its thread from call to call, so that a served request allocates nothing.
#ifndef KERNELWIRE_KERNELS_PRIMITIVES_SCRATCH_LEASE_H_
#define KERNELWIRE_KERNELS_PRIMITIVES_SCRATCH_LEASE_H_

#include <memory>
#include <utility>
#include <vector>

namespace kernelwire {

/// Lends a T of this thread's pool, with whatever its last user left in it. A pool rather than one: an executor may
/// lend a waiting thread to another piece of work. Must be destroyed by the thread that made it.
template <typename T>
class ScratchLease {
 public:
  /// `retain` = false: the T is freed afterwards, so that what a rare huge request needed is not held for ever.
  explicit ScratchLease(bool retain = true) : retain_(retain) {
    if (Pool().empty()) {
      scratch_ = std::make_unique<T>();
    } else {
      scratch_ = std::move(Pool().back());
      Pool().pop_back();
    }
  }
  ~ScratchLease() {
    if (retain_) {
      Pool().push_back(std::move(scratch_));
    }
  }
  ScratchLease(const ScratchLease&) = delete;
  ScratchLease& operator=(const ScratchLease&) = delete;

  T& operator*() const { return *scratch_; }
  T* operator->() const { return scratch_.get(); }

 private:
  static std::vector<std::unique_ptr<T>>& Pool() {
    thread_local std::vector<std::unique_ptr<T>> pool;
    return pool;
  }
  bool retain_;
  std::unique_ptr<T> scratch_;
};

}  // namespace kernelwire

#endif  // KERNELWIRE_KERNELS_PRIMITIVES_SCRATCH_LEASE_H_
