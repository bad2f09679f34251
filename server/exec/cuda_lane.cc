#include "server/exec/cuda_lane.h"

#include <algorithm>
#include <utility>

#include "kernels/core/status_macros.h"

namespace kernelwire {
namespace {

/// How much longer than others a launch may take before it counts as hung: what its work takes at worst at a quarter of
/// an H200's pace (soft-NMS; a fiftieth, hard), since GPUs are slower, and other lanes have a part of them, too.
Nanos AllowanceFor(const Operator& op, const Launch& launch) {
  constexpr Nanos kBytesPerNano = 50;
  constexpr Nanos kMost = 600'000'000'000;
  return op.most_work_bytes == nullptr ? 0 : std::min<Nanos>(op.most_work_bytes(launch) / kBytesPerNano, kMost);
}

}  // namespace

absl::StatusOr<std::unique_ptr<CudaLane>> CudaLane::Create() {
  KERNELWIRE_ASSIGN_OR_RETURN(Stream stream, Stream::Create());
  KERNELWIRE_ASSIGN_OR_RETURN(LaunchTickets tickets, LaunchTickets::Create(stream.get()));
  KERNELWIRE_ASSIGN_OR_RETURN(Event begin, Event::Create(Event::Timing::kEnabled));
  KERNELWIRE_ASSIGN_OR_RETURN(Event copied_in, Event::Create(Event::Timing::kEnabled));
  KERNELWIRE_ASSIGN_OR_RETURN(Event computed, Event::Create(Event::Timing::kEnabled));
  KERNELWIRE_ASSIGN_OR_RETURN(Event done, Event::Create(Event::Timing::kEnabled));
  return std::unique_ptr<CudaLane>(new CudaLane(std::move(stream), std::move(tickets), std::move(begin),
                                                std::move(copied_in), std::move(computed), std::move(done)));
}

CudaLane::CudaLane(Stream stream, LaunchTickets tickets, Event begin, Event copied_in, Event computed, Event done)
    : stream_(std::move(stream)),
      tickets_(std::move(tickets)),
      begin_(std::move(begin)),
      copied_in_(std::move(copied_in)),
      computed_(std::move(computed)),
      done_(std::move(done)) {}

bool CudaLane::Start(Batch& batch, bool in_place, Nanos now, Nanos hang_after) {
  batch_ = &batch;
  in_place_ = in_place;
  failure_ = CudaFailure{};
  const Slab& slab = batch.slab();
  std::byte* const tensors = in_place ? slab.host() : slab.device();
  // Scratch stays on the device either way: it is nobody's business beyond the kernel.
  const Launch& launch = batch.BuildLaunch({tensors, tensors, slab.device(), tensors, tickets_.data()});
  started_at_ = now;
  hang_after_ = hang_after;
  time_limit_ = hang_after + AllowanceFor(batch.op(), launch);
  waited_ = waited_until_ = 0;
  // Errors stay with a thread until they are asked for, even the "not ready" of Query and the failure of another batch.
  // An operator that looks at the last error must find its own; those that do not go away come back by themselves.
  static_cast<void>(cudaGetLastError());
  static_cast<void>(Enqueue(launch));  // a failure is kept in failure_
  const cudaError_t error = cudaEventRecord(done_.get(), stream_.get());
  if (error != cudaSuccess && failure_.error == cudaSuccess) {
    failure_ = {error, "cudaEventRecord"};
  }
  return error == cudaSuccess;
}

bool CudaLane::Enqueue(const Launch& launch) {
  const auto compute = [&] { return static_cast<cudaError_t>(batch_->op().launch_cuda(launch, stream_.get())); };
  if (in_place_) {
    return Try(cudaEventRecord(begin_.get(), stream_.get()), "cudaEventRecord") && Try(compute(), "launch");
  }
  return Try(cudaEventRecord(begin_.get(), stream_.get()), "cudaEventRecord") && CopyIn() && Try(compute(), "launch") &&
         CopyOut();
}

bool CudaLane::CopyIn() {
  const Slab& slab = batch_->slab();
  return Try(cudaMemcpyAsync(slab.device(), slab.host(), batch_->copy_in_bytes(), cudaMemcpyHostToDevice,
                             stream_.get()),
             "cudaMemcpyAsync to the device") &&
         Try(cudaEventRecord(copied_in_.get(), stream_.get()), "cudaEventRecord");
}

bool CudaLane::CopyOut() {
  const Slab& slab = batch_->slab();
  const std::size_t begin = batch_->copy_out_begin();
  return Try(cudaEventRecord(computed_.get(), stream_.get()), "cudaEventRecord") &&
         Try(cudaMemcpyAsync(slab.host() + begin, slab.device() + begin, slab.bytes() - begin, cudaMemcpyDeviceToHost,
                             stream_.get()),
             "cudaMemcpyAsync to the host");
}

bool CudaLane::Try(cudaError_t error, const char* call) {
  if (error != cudaSuccess) {
    failure_ = {error, call};
  }
  return error == cudaSuccess;
}

void CudaLane::ReadTimes() {
  if (in_place_) {
    batch_->kernel = Between(begin_, done_);
    return;
  }
  batch_->copy_in = Between(begin_, copied_in_);
  batch_->kernel = Between(copied_in_, computed_);
  batch_->copy_out = Between(computed_, done_);
}

Nanos CudaLane::Between(const Event& from, const Event& to) {
  float milliseconds = 0.0F;
  if (!Try(cudaEventElapsedTime(&milliseconds, from.get(), to.get()), "cudaEventElapsedTime")) {
    return 0;
  }
  return static_cast<Nanos>(static_cast<double>(milliseconds) * 1e6);
}

}  // namespace kernelwire
