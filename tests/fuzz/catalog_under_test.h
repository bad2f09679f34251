// The models that the fuzzers throw requests at.
#ifndef KERNELWIRE_TESTS_FUZZ_CATALOG_UNDER_TEST_H_
#define KERNELWIRE_TESTS_FUZZ_CATALOG_UNDER_TEST_H_

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "server/catalog/catalog.h"
#include "server/codec/testing/probe_operator.h"

namespace kernelwire::fuzz {

/// Every operator, and the one that takes every type: no real operator reaches all paths of typed contents.
inline const Catalog& CatalogUnderTest() {
  static const Catalog* const catalog = [] {
    std::vector<Model> models = Catalog::OfAllOperators().models();
    models.push_back(testing::ProbeCatalog().models().front());
    return new Catalog(models);
  }();
  return *catalog;
}

/// What must hold of whatever the fuzzer found; ends the run with the words if it does not.
inline void Require(bool holds, const char* what) {
  if (!holds) {
    std::fprintf(stderr, "does not hold: %s\n", what);
    std::abort();
  }
}

}  // namespace kernelwire::fuzz

#endif  // KERNELWIRE_TESTS_FUZZ_CATALOG_UNDER_TEST_H_
