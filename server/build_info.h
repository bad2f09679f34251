// What this binary was built from.
#ifndef KERNELWIRE_SERVER_BUILD_INFO_H_
#define KERNELWIRE_SERVER_BUILD_INFO_H_

#include <string>

namespace kernelwire {

struct BuildInfo {
  std::string version;   // "0.1.0"
  std::string cuda;      // of the compiler, "13.0.48"; "none" in a build without CUDA
  std::string compiler;  // "GNU 12.2.0"
  std::string build;     // "Release"
};

BuildInfo ThisBuild();

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_BUILD_INFO_H_
