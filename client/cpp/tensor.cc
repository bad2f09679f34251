#include "kernelwire/tensor.h"

#include <array>
#include <limits>

namespace kernelwire::client {
namespace {

struct TypeFacts {
  const char* name;
  std::size_t size;
};

constexpr std::array<TypeFacts, 11> kTypes = {{{"BOOL", 1},
                                               {"INT8", 1},
                                               {"UINT8", 1},
                                               {"INT32", 4},
                                               {"INT64", 8},
                                               {"FP16", 2},
                                               {"BF16", 2},
                                               {"FP32", 4},
                                               {"FP64", 8},
                                               {"FP8_E4M3", 1},
                                               {"FP8_E5M2", 1}}};
static_assert(kTypes.size() == static_cast<std::size_t>(DataType::kFp8E5m2) + 1, "one line a type, in its order");

}  // namespace

std::size_t SizeOf(DataType type) { return kTypes[static_cast<std::size_t>(type)].size; }

const char* NameOf(DataType type) { return kTypes[static_cast<std::size_t>(type)].name; }

std::optional<DataType> DataTypeFromName(std::string_view name) {
  for (std::size_t i = 0; i < kTypes.size(); ++i) {
    if (name == kTypes[i].name) {
      return static_cast<DataType>(i);
    }
  }
  return std::nullopt;
}

std::string ShapeText(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(shape[i]);
  }
  return text + "]";
}

std::optional<std::int64_t> ElementCount(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  bool empty = false;
  for (const std::int64_t extent : shape) {
    if (extent < 0) {
      return std::nullopt;
    }
    if (extent == 0) {
      empty = true;
    } else if (count > std::numeric_limits<std::int64_t>::max() / extent) {
      return std::nullopt;
    } else {
      count *= extent;
    }
  }
  return empty ? 0 : count;
}

OutputTensor::OutputTensor(std::string name, DataType dtype, std::vector<std::int64_t> shape, std::vector<Chunk> chunks,
                           std::shared_ptr<const void> memory)
    : name_(std::move(name)),
      dtype_(dtype),
      shape_(std::move(shape)),
      chunks_(std::move(chunks)),
      memory_(std::move(memory)) {
  for (const Chunk& chunk : chunks_) {
    byte_size_ += chunk.size;
  }
}

const std::uint8_t* OutputTensor::data() {
  static constexpr std::uint8_t kNothing = 0;
  if (byte_size_ == 0) {
    return &kNothing;
  }
  if (chunks_.size() > 1) {
    // new[] without initialisation: std::vector would write the bytes twice.
    std::shared_ptr<std::uint8_t[]> whole(new std::uint8_t[byte_size_]);
    CopyTo(whole.get());
    chunks_ = {{whole.get(), byte_size_}};
    memory_ = std::shared_ptr<const void>(whole, whole.get());
  }
  return chunks_.front().data;
}

void OutputTensor::CopyTo(void* destination) const {
  auto* to = static_cast<std::uint8_t*>(destination);
  for (const Chunk& chunk : chunks_) {
    if (chunk.size != 0) {  // memcpy from null is undefined even for no bytes
      std::memcpy(to, chunk.data, chunk.size);
      to += chunk.size;
    }
  }
}

}  // namespace kernelwire::client
