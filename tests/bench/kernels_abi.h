// The operator library behind a C interface, so that a benchmark in another language reaches the kernels themselves:
// plan once, bind to memory once, then run on a stream as often as wanted. Built as libkernelwire-bench.so.
#ifndef KERNELWIRE_TESTS_BENCH_KERNELS_ABI_H_
#define KERNELWIRE_TESTS_BENCH_KERNELS_ABI_H_

#include <cstddef>
#include <cstdint>

extern "C" {

/// `dtype` is a wire name ("BF16"), null for an input that is left out. `row_stride` in elements; 0: dense rows.
struct KwTensor {
  const char* dtype;
  std::int32_t rank;
  std::int64_t extents[16];
  std::int64_t row_stride;
};

struct KwRequest;

/// Plans a request. `attributes` is "name=value name=value"; values that read as an integer, a number or true/false
/// are passed on as such, others as strings. `wanted_outputs`: bit i = output i; 0: the operator's defaults.
/// Null on an error, which KwError then tells. The request is freed with KwFree.
KwRequest* KwPlan(const char* op, const KwTensor* inputs, int input_count, const char* attributes,
                  std::uint32_t wanted_outputs, const std::int64_t* output_row_strides);

/// Shape, type and bytes of output `index` (its largest). Returns 0 when the request does not have it.
int KwOutput(const KwRequest* request, int index, KwTensor* output, std::size_t* bytes);
std::size_t KwWorkspaceBytes(const KwRequest* request);

/// Says where the tensors lie: `inputs` and `outputs` in the spec's order, null for absent ones. For a GPU, `table` is
/// KwTableBytes() of device memory, into which the caller copies KwTable() before the first run; for the host it is
/// null. Freed with KwUnbind; it refers to `request`.
struct KwBinding;
KwBinding* KwBind(const KwRequest* request, const void* const* inputs, void* const* outputs, void* workspace,
                  void* table);
/// One more request for the same launch, up to kMostKwRequests, before its table is copied. Returns 0, or 1 with
/// KwError, for one whose plan has another key.
enum { kMostKwRequests = 64 };
int KwJoin(KwBinding* binding, const KwRequest* request, const void* const* inputs, void* const* outputs,
           void* workspace);
std::size_t KwTableBytes();
const void* KwTable(const KwBinding* binding);

/// Enqueues on a cudaStream_t; may be captured in a graph. Returns a cudaError_t.
int KwRunCuda(const KwBinding* binding, void* stream);
/// Computes with `threads` threads, the caller among them. Returns 0, or 1 with KwError. One call at a time.
int KwRunHost(const KwBinding* binding, int threads);

void KwUnbind(KwBinding* binding);
void KwFree(KwRequest* request);
/// Of this thread's last failed call.
const char* KwError();

}  // extern "C"

#endif  // KERNELWIRE_TESTS_BENCH_KERNELS_ABI_H_
