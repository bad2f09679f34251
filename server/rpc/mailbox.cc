#include "server/rpc/mailbox.h"

#include <utility>

#include "grpc/support/time.h"

namespace kernelwire {

void Mailbox::Post(Mail* mail) {
  Mail* below = newest_.load(std::memory_order_relaxed);
  do {
    mail->next_ = below;
  } while (!newest_.compare_exchange_weak(below, mail, std::memory_order_release, std::memory_order_relaxed));
  if (below == nullptr) {
    alarm_.Set(queue_, gpr_time_0(GPR_CLOCK_MONOTONIC), &opened_);  // a time that has passed: rings at once
  }
}

void Mailbox::Open(bool /*ok*/) {
  Mail* newest = newest_.exchange(nullptr, std::memory_order_acquire);
  Mail* oldest = nullptr;
  while (newest != nullptr) {  // delivered in the order in which it was posted
    Mail* const below = newest->next_;
    newest->next_ = oldest;
    oldest = std::exchange(newest, below);
  }
  while (oldest != nullptr) {
    Mail* const mail = std::exchange(oldest, oldest->next_);
    mail->Deliver();
  }
}

}  // namespace kernelwire
