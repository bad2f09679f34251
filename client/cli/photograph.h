// A photograph to draw detections over: a PNG or JPEG file as it is, ready to stand inside an SVG document.
#ifndef KERNELWIRE_CLIENT_CLI_PHOTOGRAPH_H_
#define KERNELWIRE_CLIENT_CLI_PHOTOGRAPH_H_

#include <string>

#include "kernelwire/status.h"

namespace kernelwire::cli {

struct Photograph {
  int width = 0;  // pixels
  int height = 0;
  std::string data_uri;  // "data:image/png;base64,..."
};

/// Reads the size out of the file's content, and nothing else. Errors: INVALID_ARGUMENT for content that is neither PNG
/// nor JPEG, or that ends before its size.
client::Result<Photograph> ParsePhotograph(const std::string& content);

/// RFC 4648, with padding.
std::string Base64(const std::string& bytes);

}  // namespace kernelwire::cli

#endif  // KERNELWIRE_CLIENT_CLI_PHOTOGRAPH_H_
