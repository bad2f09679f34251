// CUB's reductions behind a C interface, for benchmarks that compare ours with them: whole tensors and rows of equal
// length. Built as libkernelwire-bench-cub.so, which holds nothing of ours.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/discard_iterator.h>
#include <thrust/iterator/tabulate_output_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cstddef>
#include <cstdint>
#include <cub/device/device_reduce.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <cuda/functional>
#include <cuda/std/functional>
#include <cuda/std/limits>
#include <limits>
#include <type_traits>

namespace {

constexpr int kNotOffered = -1;

struct Job {
  const void* x;
  void* y;
  int rows, width;
  void* temp;
  std::size_t* temp_bytes;
  cudaStream_t stream;
};

template <typename Wide>
struct To {
  template <typename T>
  __host__ __device__ Wide operator()(const T& value) const {
    return static_cast<Wide>(value);
  }
};

struct RowBegin {
  int width;
  __host__ __device__ int operator()(int row) const { return row * width; }
};

auto RowBegins(const Job& job) {
  return thrust::make_transform_iterator(thrust::make_counting_iterator(0), RowBegin{job.width});
}

// Pointers where they will do: only through those does CUB load several elements at once (of types other than 16-bit
// floats). FP8 does not become a number by itself.
template <typename Wide, typename T>
auto Numbers(const T* x) {
  if constexpr (std::is_convertible_v<T, Wide>) {
    return x;
  } else {
    return thrust::make_transform_iterator(x, To<Wide>{});
  }
}

template <typename T, typename Wide, typename Result, typename Combine>
int Reduce(const Job& job, Combine combine, Wide initial) {
  const auto x = static_cast<const T*>(job.x);
  const auto y = static_cast<Result*>(job.y);
  if (job.rows == 1) {
    return cub::DeviceReduce::TransformReduce(job.temp, *job.temp_bytes, x, y, job.width, combine, To<Wide>{}, initial,
                                              job.stream);
  }
  const auto begins = RowBegins(job);
  return cub::DeviceSegmentedReduce::Reduce(job.temp, *job.temp_bytes, Numbers<Wide>(x), y, job.rows, begins,
                                            begins + 1, combine, initial, job.stream);
}

// Of what CUB finds in a row, the index alone.
struct WriteIndex {
  std::int64_t* indices;
  template <typename Found>
  __device__ void operator()(std::ptrdiff_t row, const Found& found) const {
    indices[row] = found.key;
  }
};

template <bool kLargest, typename Source>
int FindInTensor(const Job& job, Source x, std::int64_t* y) {
  const auto value = thrust::make_discard_iterator();
  if constexpr (kLargest) {
    return cub::DeviceReduce::ArgMax(job.temp, *job.temp_bytes, x, value, y, job.width, job.stream);
  } else {
    return cub::DeviceReduce::ArgMin(job.temp, *job.temp_bytes, x, value, y, job.width, job.stream);
  }
}

template <bool kLargest, typename Source>
int FindInRows(const Job& job, Source x, std::int64_t* y) {
  const auto found = thrust::make_tabulate_output_iterator(WriteIndex{y});
  const auto begins = RowBegins(job);
  if constexpr (kLargest) {
    return cub::DeviceSegmentedReduce::ArgMax(job.temp, *job.temp_bytes, x, found, job.rows, begins, begins + 1,
                                              job.stream);
  } else {
    return cub::DeviceSegmentedReduce::ArgMin(job.temp, *job.temp_bytes, x, found, job.rows, begins, begins + 1,
                                              job.stream);
  }
}

template <bool kLargest, typename T, typename Compared>
int Find(const Job& job) {
  const auto x = Numbers<Compared>(static_cast<const T*>(job.x));
  const auto y = static_cast<std::int64_t*>(job.y);
  return job.rows == 1 ? FindInTensor<kLargest>(job, x, y) : FindInRows<kLargest>(job, x, y);
}

// Sums are of a type that holds them, results of the type that our operators give. Extremes are compared in their own
// type: this rounds nothing, and CUB then compares two 16-bit numbers at once. Only FP8 cannot be compared.
template <typename T, typename Wide, typename Sum, typename Compared = T>
int Run(int op, const Job& job) {
  using Limits = cuda::std::numeric_limits<Compared>;
  switch (op) {
    case 0:
      return Reduce<T, Wide, Sum>(job, cuda::std::plus<Wide>{}, Wide{0});
    case 1:
      return Reduce<T, Wide, Sum>(job, cuda::std::multiplies<Wide>{}, Wide{1});
    case 2:
      return Reduce<T, Compared, Compared>(job, cuda::minimum<Compared>{}, Limits::max());
    case 3:
      return Reduce<T, Compared, Compared>(job, cuda::maximum<Compared>{}, Limits::lowest());
    case 4:
      return Find<false, T, Compared>(job);
    case 5:
      return Find<true, T, Compared>(job);
    default:
      return kNotOffered;
  }
}

}  // namespace

/// `op`: sum, prod, min, max, argmin, argmax; `type`: FP32, BF16, FP16, FP64, INT8, INT32, FP8_E4M3, FP8_E5M2, each
/// counted from 0. Reduces `rows` dense rows; one row is a whole tensor. Without `temp` it only writes `temp_bytes`.
/// Enqueues on a stream; may be captured in a graph. Returns a cudaError_t, or -1 for what is not offered: 2^31
/// elements and more too, for CUB is fastest with 32-bit offsets.
extern "C" int KwCubReduce(int op, int type, const void* x, void* y, long long rows, long long width, void* temp,
                           std::size_t* temp_bytes, cudaStream_t stream) {
  if (rows < 1 || width < 1 || width > std::numeric_limits<int>::max() / rows) {
    return kNotOffered;
  }
  const Job job{x, y, static_cast<int>(rows), static_cast<int>(width), temp, temp_bytes, stream};
  switch (type) {
    case 0:
      return Run<float, float, float>(op, job);
    case 1:
      return Run<__nv_bfloat16, float, __nv_bfloat16>(op, job);
    case 2:
      return Run<__half, float, __half>(op, job);
    case 3:
      return Run<double, double, double>(op, job);
    case 4:
      return Run<std::int8_t, std::int64_t, std::int32_t>(op, job);
    case 5:
      return Run<std::int32_t, std::int64_t, std::int64_t>(op, job);
    case 6:
      return Run<__nv_fp8_e4m3, float, float, float>(op, job);
    case 7:
      return Run<__nv_fp8_e5m2, float, float, float>(op, job);
    default:
      return kNotOffered;
  }
}
