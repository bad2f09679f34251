#include "server/rpc/method_table.h"

#include "absl/strings/str_cat.h"
#include "server/rpc/unary_answers.h"

namespace kernelwire {
namespace {

constexpr char kInference[] = "/inference.GRPCInferenceService/";
constexpr char kNoRepository[] = "models cannot be loaded or unloaded: every operator is a model from the start";
constexpr char kNoSharedMemory[] = "tensors in shared memory are not served: send them in raw_input_contents";
constexpr char kNoTrace[] = "traces are not served: see the metrics";
constexpr char kNoLogSettings[] = "log settings cannot be changed by call: set them by flag at start";
constexpr char kNoReflection[] = "reflection is switched off (--reflection)";

Method Unary(UnaryAnswer answer) { return {MethodKind::kUnary, answer, "", false}; }
Method Probe(UnaryAnswer answer) { return {MethodKind::kUnary, answer, "", true}; }
Method Unserved(const char* missing) { return {MethodKind::kNotServed, nullptr, missing, false}; }

}  // namespace

MethodTable::MethodTable(bool reflection) {
  AddInference();
  AddUnserved();
  methods_["/grpc.health.v1.Health/Check"] = Probe(AnswerHealthCheck);
  methods_["/grpc.health.v1.Health/Watch"] = {MethodKind::kHealthWatch, nullptr, "", false};
  const Method reflect = reflection ? Method{MethodKind::kReflection, nullptr, "", false} : Unserved(kNoReflection);
  methods_["/grpc.reflection.v1.ServerReflection/ServerReflectionInfo"] = reflect;
  methods_["/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo"] = reflect;
}

void MethodTable::AddInference() {
  const auto add = [this](const char* name, const Method& method) {
    methods_[absl::StrCat(kInference, name)] = method;
  };
  add("ModelInfer", {MethodKind::kInfer, nullptr, "", false});
  add("ModelStreamInfer", {MethodKind::kStreamInfer, nullptr, "", false});
  add("ServerLive", Probe(AnswerServerLive));
  add("ServerReady", Probe(AnswerServerReady));
  add("ServerMetadata", Unary(AnswerServerMetadata));
  add("ModelReady", Unary(AnswerModelReady));
  add("ModelMetadata", Unary(AnswerModelMetadata));
  add("ModelConfig", Unary(AnswerModelConfig));
  add("ModelStatistics", Unary(AnswerModelStatistics));
  add("RepositoryIndex", Unary(AnswerRepositoryIndex));
}

void MethodTable::AddUnserved() {
  const auto add = [this](const char* name, const char* missing) {
    methods_[absl::StrCat(kInference, name)] = Unserved(missing);
  };
  add("RepositoryModelLoad", kNoRepository);
  add("RepositoryModelUnload", kNoRepository);
  for (const char* kind : {"System", "Cuda"}) {
    for (const char* verb : {"Status", "Register", "Unregister"}) {
      add(absl::StrCat(kind, "SharedMemory", verb).c_str(), kNoSharedMemory);
    }
  }
  add("TraceSetting", kNoTrace);
  add("LogSettings", kNoLogSettings);
}

const Method* MethodTable::Find(absl::string_view path) const {
  const auto found = methods_.find(path);
  return found == methods_.end() ? nullptr : &found->second;
}

}  // namespace kernelwire
