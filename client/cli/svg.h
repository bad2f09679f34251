// Pictures of detections.
#ifndef KERNELWIRE_CLIENT_CLI_SVG_H_
#define KERNELWIRE_CLIENT_CLI_SVG_H_

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "client/cli/photograph.h"

namespace kernelwire::cli {

/// A box to draw, corners x1 y1 x2 y2 in the image's own units; boxes of one `group` share a colour.
struct DrawnBox {
  std::array<float, 4> corners;
  std::int64_t group;
  std::string label;
};

/// One image. Where the photograph is not known, a frame around the boxes stands for it.
struct DrawnImage {
  std::string title;
  std::vector<DrawnBox> boxes;
  std::optional<Photograph> photograph{};
};

/// An SVG document with the images in a grid; a single one fills it. Text is escaped; boxes whose coordinates are not
/// finite are left out. Earlier boxes are drawn over later ones.
std::string DrawSvg(const std::vector<DrawnImage>& images);

/// `text` as XML content: & < > " ' replaced, control characters (which XML cannot hold) left out.
std::string EscapeXml(const std::string& text);

}  // namespace kernelwire::cli

#endif  // KERNELWIRE_CLIENT_CLI_SVG_H_
