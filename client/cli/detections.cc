#include "client/cli/detections.h"

#include <cstdio>
#include <cstdlib>
#include <limits>
#include <map>
#include <utility>

#include "client/cli/table.h"
#include "nlohmann/json.hpp"

namespace kernelwire::cli {
namespace {

using client::Result;
using client::Status;
using client::StatusCode;
using Json = nlohmann::json;

Status Malformed(const std::string& where, const std::string& expected, const Json& came) {
  constexpr std::size_t kLongest = 60;
  std::string text = came.dump(-1, ' ', false, Json::error_handler_t::replace);
  if (text.size() > kLongest) {
    text = text.substr(0, kLongest) + "...";
  }
  return Status(StatusCode::kInvalidArgument, where + ": expected " + expected + ", got " + text);
}

// Null when there is none.
Json Member(const Json& object, const char* name) {
  const auto found = object.find(name);
  return found == object.end() ? Json() : *found;
}

// Whether its value can be taken: above, it would turn negative.
bool IsInt64(const Json& value) {
  return value.is_number_integer() &&
         (!value.is_number_unsigned() || value.get<std::uint64_t>() <= std::numeric_limits<std::int64_t>::max());
}

bool IsClass(const Json& value) {
  return IsInt64(value) && value.get<std::int64_t>() >= std::numeric_limits<std::int32_t>::min() &&
         value.get<std::int64_t>() <= std::numeric_limits<std::int32_t>::max();
}

// Adds one box to the image, checked.
Status AddBox(const std::string& where, const Json& box, const Json& score, const Json& category,
              ImageDetections* image) {
  std::array<float, 4> numbers{};
  bool good = box.is_array() && box.size() == numbers.size();
  for (std::size_t i = 0; good && i < numbers.size(); ++i) {
    good = box[i].is_number();
    numbers[i] = good ? box[i].get<float>() : 0;
  }
  if (!good) {
    return Malformed(where + ", box", "four numbers", box);
  }
  if (!score.is_number()) {
    return Malformed(where + ", score", "a number", score);
  }
  if (!IsClass(category)) {
    return Malformed(where + ", class", "a whole number of 32 bits", category);
  }
  image->boxes.push_back(numbers);
  image->scores.push_back(score.get<float>());
  image->classes.push_back(category.get<std::int32_t>());
  ++image->total;
  return Status();
}

Result<Detections> ParseCoco(const Json& list) {
  std::map<std::int64_t, ImageDetections> images;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string where = "entry " + std::to_string(i);
    const Json& entry = list[i];
    if (!entry.is_object() || !Member(entry, "image_id").is_number_integer()) {
      return Malformed(where, "an object with image_id, category_id, bbox and score", entry);
    }
    const Json& id = entry["image_id"];
    if (!IsInt64(id)) {
      return Malformed(where + ", image_id", "a whole number of 64 bits", id);
    }
    ImageDetections& image = images[id.get<std::int64_t>()];
    image.id = id.get<std::int64_t>();
    Status status = AddBox(where, Member(entry, "bbox"), Member(entry, "score"), Member(entry, "category_id"), &image);
    if (!status.ok()) {
      return status;
    }
  }
  Detections detections;
  for (auto& [id, image] : images) {
    detections.images.push_back(std::move(image));
  }
  return detections;
}

Result<Detections> ParseOneImage(const Json& object) {
  Detections detections;
  detections.form = DetectionForm::kOneImage;
  ImageDetections& image = detections.images.emplace_back();
  const Json& boxes = Member(object, "boxes");
  const Json& scores = Member(object, "scores");
  const Json& classes = Member(object, "idxs");
  const auto is_list = [&boxes](const Json& list) { return list.is_array() && list.size() == boxes.size(); };
  if (!boxes.is_array()) {
    return Malformed("boxes", "a list of boxes", boxes);
  }
  if (!is_list(scores)) {
    return Malformed("scores", "a list of " + std::to_string(boxes.size()) + " numbers", scores);
  }
  if (!classes.is_null() && !is_list(classes)) {
    return Malformed("idxs", "a list of " + std::to_string(boxes.size()) + " classes", classes);
  }
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    Status status =
        AddBox("entry " + std::to_string(i), boxes[i], scores[i], classes.is_null() ? Json(0) : classes[i], &image);
    if (!status.ok()) {
      return status;
    }
  }
  if (const Json& keep = Member(object, "keep"); keep.is_array()) {
    std::vector<std::int64_t>& expected = detections.expected.emplace();
    for (const Json& index : keep) {
      if (!IsInt64(index)) {
        return Malformed("keep", "whole numbers of 64 bits", index);
      }
      expected.push_back(index.get<std::int64_t>());
    }
  }
  return detections;
}

// The shortest decimal text that reads back as the same float: 0.236, not 0.23600000143051147.
Json ShortNumber(float value) {
  char text[32];
  for (int digits = 6; digits <= 9; ++digits) {
    std::snprintf(text, sizeof(text), "%.*g", digits, static_cast<double>(value));
    if (std::strtof(text, nullptr) == value) {
      break;
    }
  }
  return Json(std::strtod(text, nullptr));
}

Json ShortNumbers(const std::array<float, 4>& box) {
  Json list = Json::array();
  for (const float number : box) {
    list.push_back(ShortNumber(number));
  }
  return list;
}

}  // namespace

Result<Detections> ParseDetections(const std::string& text) {
  const Json json = Json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (json.is_discarded()) {
    return Status(StatusCode::kInvalidArgument, "expected JSON, got something else");
  }
  if (json.is_array()) {
    return ParseCoco(json);
  }
  if (json.is_object()) {
    return ParseOneImage(json);
  }
  return Malformed("file", "a list of COCO results, or an object with boxes, scores and idxs", json);
}

namespace {

// A box as COCO has it: near corner and size.
std::array<float, 4> SizedOf(const std::array<float, 4>& box, client::BoxCoding coding) {
  return coding == client::BoxCoding::kXywh ? box
                                            : std::array<float, 4>{box[0], box[1], box[2] - box[0], box[3] - box[1]};
}

}  // namespace

std::string FormatKept(const Detections& detections, const std::vector<client::NmsKept>& kept) {
  Json coco = Json::array();
  Json boxes = Json::array(), scores = Json::array(), classes = Json::array(), keep = Json::array();
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const ImageDetections& image = detections.images[i];
    for (std::size_t k = 0; k < kept[i].indices.size(); ++k) {
      const auto index = static_cast<std::size_t>(kept[i].indices[k]);
      const Json score = ShortNumber(kept[i].scores[k]);
      if (detections.form != DetectionForm::kOneImage) {
        coco.push_back({{"image_id", image.id},
                        {"category_id", image.classes[index]},
                        {"bbox", ShortNumbers(SizedOf(image.boxes[index], detections.box_coding()))},
                        {"score", score}});
        continue;
      }
      boxes.push_back(ShortNumbers(image.boxes[index]));
      scores.push_back(score);
      classes.push_back(image.classes[index]);
      keep.push_back(index);
    }
  }
  const Json one_image = {{"boxes", boxes}, {"scores", scores}, {"idxs", classes}, {"keep", keep}};
  return (detections.form == DetectionForm::kOneImage ? one_image : coco).dump() + "\n";
}

std::array<float, 4> CornersOf(const std::array<float, 4>& box, client::BoxCoding coding) {
  return coding == client::BoxCoding::kXywh ? std::array<float, 4>{box[0], box[1], box[0] + box[2], box[1] + box[3]}
                                            : box;
}

std::vector<DrawnImage> PictureOf(const Detections& detections, const std::vector<client::NmsKept>& kept) {
  std::vector<DrawnImage> pictures;
  for (std::size_t i = 0; i < kept.size(); ++i) {
    const ImageDetections& image = detections.images[i];
    DrawnImage& picture = pictures.emplace_back();
    picture.title = (detections.form == DetectionForm::kOneImage ? "" : "image " + std::to_string(image.id) + ": ") +
                    std::to_string(kept[i].indices.size()) + " of " + std::to_string(image.total) + " boxes";
    for (std::size_t k = 0; k < kept[i].indices.size(); ++k) {
      const auto index = static_cast<std::size_t>(kept[i].indices[k]);
      picture.boxes.push_back(
          {CornersOf(image.boxes[index], detections.box_coding()), image.classes[index],
           std::to_string(image.classes[index]) + "  " + Fixed(static_cast<double>(kept[i].scores[k]), 2)});
    }
  }
  return pictures;
}

std::vector<client::NmsKept> KeepAll(const Detections& detections) {
  std::vector<client::NmsKept> kept;
  for (const ImageDetections& image : detections.images) {
    client::NmsKept& all = kept.emplace_back();
    all.scores = image.scores;
    for (std::size_t i = 0; i < image.boxes.size(); ++i) {
      all.indices.push_back(static_cast<std::int64_t>(i));
    }
  }
  return kept;
}

}  // namespace kernelwire::cli
