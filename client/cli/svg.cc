#include "client/cli/svg.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "client/cli/table.h"

namespace kernelwire::cli {
namespace {

constexpr double kMargin = 12;
constexpr double kTitleHeight = 20;

struct Frame {
  double left = 0, top = 0, right = 1, bottom = 1;
};

bool IsFinite(const DrawnBox& box) {
  return std::all_of(box.corners.begin(), box.corners.end(), [](float x) { return std::isfinite(x); });
}

// From the origin, where images begin, to the farthest corners, of the photograph too.
Frame FrameOf(const DrawnImage& image) {
  Frame frame;
  if (image.photograph.has_value()) {
    frame.right = image.photograph->width;
    frame.bottom = image.photograph->height;
  }
  for (const DrawnBox& box : image.boxes) {
    if (IsFinite(box)) {
      const auto [x1, y1, x2, y2] = box.corners;
      frame.left = std::min({frame.left, static_cast<double>(x1), static_cast<double>(x2)});
      frame.right = std::max({frame.right, static_cast<double>(x1), static_cast<double>(x2)});
      frame.top = std::min({frame.top, static_cast<double>(y1), static_cast<double>(y2)});
      frame.bottom = std::max({frame.bottom, static_cast<double>(y1), static_cast<double>(y2)});
    }
  }
  return frame;
}

// Hues a golden angle apart: neighbours in number are far apart in colour, and no two of a few hundred are the same.
// As #rrggbb, which every reader of SVG knows, unlike hsl().
std::string ColourOf(std::int64_t group) {
  constexpr double kPi = 3.14159265358979323846;
  const double hue = std::fmod(static_cast<double>(group) * 137.508, 360) / 180 * kPi;
  std::string colour = "#";
  for (const double phase : {0.0, 2 * kPi / 3, 4 * kPi / 3}) {  // a third of a turn between red, green and blue
    char digits[3];
    std::snprintf(digits, sizeof(digits), "%02x", static_cast<unsigned>(105 + 95 * std::cos(hue - phase)) & 0xff);
    colour += digits;
  }
  return colour;
}

std::string Attribute(const char* name, double value) {
  return std::string(" ") + name + "=\"" + Fixed(value, 1) + "\"";
}

std::string DrawBox(const DrawnBox& box, const Frame& frame, double scale) {
  const double x1 = (std::min(box.corners[0], box.corners[2]) - frame.left) * scale;
  const double y1 = (std::min(box.corners[1], box.corners[3]) - frame.top) * scale;
  const double width = std::fabs(static_cast<double>(box.corners[2]) - static_cast<double>(box.corners[0])) * scale;
  const double height = std::fabs(static_cast<double>(box.corners[3]) - static_cast<double>(box.corners[1])) * scale;
  const std::string colour = ColourOf(box.group);
  std::string svg = "<rect" + Attribute("x", x1) + Attribute("y", y1) + Attribute("width", width) +
                    Attribute("height", height) + " stroke=\"" + colour + "\" fill=\"" + colour +
                    "\" fill-opacity=\"0.08\"/>\n";
  return svg + "<text" + Attribute("x", x1 + 2) + Attribute("y", std::max(y1, 8.0) + 8) + " fill=\"" + colour + "\">" +
         EscapeXml(box.label) + "</text>\n";
}

// Pixels a unit, so that the longer side takes `size` pixels.
double ScaleOf(const Frame& frame, double size) {
  return size / std::max(frame.right - frame.left, frame.bottom - frame.top);
}

std::string DrawImage(const DrawnImage& image, double x, double y, double size) {
  const Frame frame = FrameOf(image);
  const double scale = ScaleOf(frame, size);
  std::string svg = "<g transform=\"translate(" + Fixed(x, 1) + " " + Fixed(y, 1) + ")\">\n";
  svg += "<text class=\"title\" x=\"0\" y=\"-6\">" + EscapeXml(image.title) + "</text>\n";
  svg += "<rect class=\"frame\" x=\"0\" y=\"0\"" + Attribute("width", (frame.right - frame.left) * scale) +
         Attribute("height", (frame.bottom - frame.top) * scale) + "/>\n";
  if (image.photograph.has_value()) {
    svg += "<image" + Attribute("x", (0.0 - frame.left) * scale) + Attribute("y", (0.0 - frame.top) * scale) +
           Attribute("width", image.photograph->width * scale) + Attribute("height", image.photograph->height * scale) +
           " href=\"" + image.photograph->data_uri + "\"/>\n";
  }
  for (auto box = image.boxes.rbegin(); box != image.boxes.rend(); ++box) {  // the first, the best, is on top
    if (IsFinite(*box)) {
      svg += DrawBox(*box, frame, scale);
    }
  }
  return svg + "</g>\n";
}

}  // namespace

std::string EscapeXml(const std::string& text) {
  std::string escaped;
  for (const char c : text) {
    switch (c) {
      case '&':
        escaped += "&amp;";
        break;
      case '<':
        escaped += "&lt;";
        break;
      case '>':
        escaped += "&gt;";
        break;
      case '"':
        escaped += "&quot;";
        break;
      case '\'':
        escaped += "&#39;";
        break;
      default:
        if (static_cast<unsigned char>(c) >= 0x20 || c == '\t' || c == '\n') {
          escaped += c;
        }
    }
  }
  return escaped;
}

std::string DrawSvg(const std::vector<DrawnImage>& images) {
  const auto columns = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(images.size()))));
  const double size = images.size() == 1 ? 1000 : 320;
  double tallest = 0;
  for (const DrawnImage& image : images) {
    const Frame frame = FrameOf(image);
    tallest = std::max(tallest, (frame.bottom - frame.top) * ScaleOf(frame, size));
  }
  const double across = size + 2 * kMargin;
  const double down = kTitleHeight + tallest + 2 * kMargin;
  const std::size_t rows = columns == 0 ? 0 : (images.size() + columns - 1) / columns;
  const double width = static_cast<double>(columns) * across;
  const double height = static_cast<double>(rows) * down;
  std::string svg = "<svg xmlns=\"http://www.w3.org/2000/svg\"" + Attribute("width", width) +
                    Attribute("height", height) + ">\n" +
                    "<style>text{font:9px sans-serif;stroke:none} rect{stroke-width:1.5} .title{font-size:12px} "
                    ".frame{fill:#fff;stroke:#bbb;stroke-width:1}</style>\n"
                    "<rect width=\"100%\" height=\"100%\" fill=\"#f4f4f4\"/>\n";
  for (std::size_t i = 0; i < images.size(); ++i) {
    const std::size_t row = i / columns;
    const std::size_t column = i % columns;
    svg += DrawImage(images[i], static_cast<double>(column) * across + kMargin,
                     static_cast<double>(row) * down + kMargin + kTitleHeight, size);
  }
  return svg + "</svg>\n";
}

}  // namespace kernelwire::cli
