#include "client/cli/photograph.h"

#include <cstddef>
#include <cstdint>

namespace kernelwire::cli {
namespace {

using client::Status;
using client::StatusCode;

// A big-endian number of `bytes` bytes.
int NumberAt(const std::string& content, std::size_t at, std::size_t bytes) {
  unsigned number = 0;
  for (std::size_t i = at; i < at + bytes; ++i) {
    number = number << 8 | static_cast<unsigned char>(content[i]);
  }
  return static_cast<int>(number);
}

bool BeginsWith(const std::string& content, const std::string& magic) {
  return content.compare(0, magic.size(), magic) == 0;
}

// The place of a JPEG file's frame header (height, width behind five bytes), or npos. Segments follow each other, each
// with a marker and its length, until the picture itself begins.
std::size_t FrameHeaderOf(const std::string& content) {
  constexpr int kFirstFrame = 0xc0, kLastFrame = 0xcf, kTables[] = {0xc4, 0xc8, 0xcc}, kScan = 0xda;
  for (std::size_t at = 2; at + 9 <= content.size();) {
    if (static_cast<unsigned char>(content[at]) != 0xff) {
      return std::string::npos;
    }
    const int marker = NumberAt(content, at + 1, 1);
    if (marker == 0xff) {  // padding
      ++at;
      continue;
    }
    const bool is_table = marker == kTables[0] || marker == kTables[1] || marker == kTables[2];
    if (marker >= kFirstFrame && marker <= kLastFrame && !is_table) {
      return at;
    }
    if (marker == kScan) {
      return std::string::npos;
    }
    at += 2 + static_cast<std::size_t>(NumberAt(content, at + 2, 2));
  }
  return std::string::npos;
}

}  // namespace

std::string Base64(const std::string& bytes) {
  static const char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    std::uint32_t group = 0;
    for (std::size_t k = 0; k < 3; ++k) {
      group = group << 8 | (i + k < bytes.size() ? static_cast<unsigned char>(bytes[i + k]) : 0u);
    }
    for (std::size_t k = 0; k < 4; ++k) {
      text += i + k <= bytes.size() ? kDigits[group >> (18 - 6 * k) & 63] : '=';
    }
  }
  return text;
}

client::Result<Photograph> ParsePhotograph(const std::string& content) {
  constexpr std::size_t kPngSize = 16;  // behind the signature, and the length and name of the first chunk
  Photograph photograph;
  if (BeginsWith(content, "\x89PNG\r\n\x1a\n") && content.size() >= kPngSize + 8) {
    photograph.width = NumberAt(content, kPngSize, 4);
    photograph.height = NumberAt(content, kPngSize + 4, 4);
    photograph.data_uri = "data:image/png;base64,";
  } else if (BeginsWith(content, "\xff\xd8")) {
    const std::size_t frame = FrameHeaderOf(content);
    if (frame != std::string::npos) {
      photograph.height = NumberAt(content, frame + 5, 2);
      photograph.width = NumberAt(content, frame + 7, 2);
    }
    photograph.data_uri = "data:image/jpeg;base64,";
  }
  if (photograph.width <= 0 || photograph.height <= 0) {
    return Status(StatusCode::kInvalidArgument, "expected a PNG or JPEG file with a width and a height");
  }
  photograph.data_uri += Base64(content);
  return photograph;
}

}  // namespace kernelwire::cli
