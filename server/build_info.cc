#include "server/build_info.h"

namespace kernelwire {

// The macros come from server/CMakeLists.txt.
BuildInfo ThisBuild() {
  return {KERNELWIRE_VERSION, KERNELWIRE_CUDA_VERSION, KERNELWIRE_COMPILER, KERNELWIRE_BUILD_TYPE};
}

}  // namespace kernelwire
