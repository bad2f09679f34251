// Scenes of boxes for the cases of nms. All values come from fixed seeds, the same on every machine.
#ifndef KERNELWIRE_KERNELS_OPS_NMS_NMS_SCENES_H_
#define KERNELWIRE_KERNELS_OPS_NMS_NMS_SCENES_H_

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "kernels/testing/generators.h"

namespace kernelwire::testing::nms {

/// Boxes with scores and perhaps classes, before they become tensors.
struct Scene {
  std::vector<double> boxes;  // four a box
  std::vector<double> scores;
  std::vector<double> classes;

  void Add(std::vector<double> box, double score) {
    boxes.insert(boxes.end(), box.begin(), box.end());
    scores.push_back(score);
  }
  void Add(std::vector<double> box, double score, double class_id) {
    Add(std::move(box), score);
    classes.push_back(class_id);
  }
};

/// Boxes of sides up to `size` over a square of `extent`; all classes alike if `classes` is 0.
inline Scene Scattered(int boxes, double extent, double size, int classes, std::uint64_t seed) {
  Dice dice(seed);
  Scene scene;
  for (int i = 0; i < boxes; ++i) {
    const double x = dice.Roll() * extent;
    const double y = dice.Roll() * extent;
    scene.Add({x, y, x + dice.Roll() * size, y + dice.Roll() * size}, dice.Roll());
    if (classes > 0) {
      scene.classes.push_back(std::floor(dice.Roll() * classes));
    }
  }
  return scene;
}

/// As a detector gives them: `objects` places, around each of which boxes crowd.
inline Scene Clustered(int boxes, int objects, int classes, std::uint64_t seed) {
  Dice dice(seed);
  Scene scene;
  for (int i = 0; i < boxes; ++i) {
    const double object = std::floor(dice.Roll() * objects);
    const double x = 37.0 * std::fmod(object * 7.0, 31.0) + dice.Roll() * 12.0;
    const double y = 41.0 * std::fmod(object * 11.0, 29.0) + dice.Roll() * 12.0;
    scene.Add({x, y, x + 30.0 + dice.Roll() * 10.0, y + 30.0 + dice.Roll() * 10.0}, dice.Roll());
    if (classes > 0) {
      scene.classes.push_back(std::fmod(object, classes));
    }
  }
  return scene;
}

/// Each box overlaps the next by 7/13 and the one after that by 4/16, so that every other one is kept: the longest
/// chain of decisions there can be. `step` is the score's.
inline Scene Chain(int boxes, double step) {
  Scene scene;
  for (int i = 0; i < boxes; ++i) {
    scene.Add({3.0 * i, 0, 3.0 * i + 10, 10}, step * i);
  }
  return scene;
}

/// The boxes of a scene, corners x1 y1 x2 y2, written in another coding.
inline Scene Recoded(Scene scene, const std::string& coding) {
  for (std::size_t i = 0; i < scene.boxes.size(); i += 4) {
    double* const box = &scene.boxes[i];
    const double x1 = box[0], y1 = box[1], x2 = box[2], y2 = box[3];
    if (coding == "yxyx") {
      std::swap(box[0], box[1]);
      std::swap(box[2], box[3]);
    } else if (coding == "xywh") {
      box[2] = x2 - x1;
      box[3] = y2 - y1;
    } else if (coding == "cxcywh") {
      const double recoded[] = {(x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1};
      std::copy(recoded, recoded + 4, box);
    }
  }
  return scene;
}

/// Far corners before near ones in x, in y and in both, beside proper boxes in the same places.
inline Scene Reversed() {
  Scene scene;
  for (int i = 0; i < 12; ++i) {
    const int place = i / 4;  // four boxes in each
    const double at = 4.0 * place;
    const double x1 = at, x2 = at + 20, y1 = 0, y2 = 20;
    scene.Add({(i & 1) != 0 ? x2 : x1, (i & 2) != 0 ? y2 : y1, (i & 1) != 0 ? x1 : x2, (i & 2) != 0 ? y1 : y2}, 12 - i);
  }
  return scene;
}

/// Rotated boxes: places as in Clustered, any angle in `turn`.
inline Scene Turned(int boxes, int objects, int classes, double turn, std::uint64_t seed) {
  Dice dice(seed);
  Scene scene = Clustered(boxes, objects, classes, seed);
  std::vector<double> numbers;
  for (std::size_t i = 0; i < scene.boxes.size(); i += 4) {
    const double x1 = scene.boxes[i], y1 = scene.boxes[i + 1], x2 = scene.boxes[i + 2], y2 = scene.boxes[i + 3];
    numbers.insert(numbers.end(), {(x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, (y2 - y1) / 2, (dice.Roll() - 0.5) * turn});
  }
  scene.boxes = numbers;
  return scene;
}

}  // namespace kernelwire::testing::nms

#endif  // KERNELWIRE_KERNELS_OPS_NMS_NMS_SCENES_H_
