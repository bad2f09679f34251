#include "server/rpc/reflection.h"

#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "google/protobuf/descriptor.h"
#include "google/protobuf/descriptor.pb.h"
#include "health.pb.h"
#include "open_inference.pb.h"
#include "reflection_v1alpha.pb.h"
#include "server/rpc/status_encoder.h"

namespace kernelwire {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::DescriptorPool;
using google::protobuf::FieldDescriptor;
using google::protobuf::FileDescriptor;
using grpc::reflection::v1::ServerReflectionRequest;
using grpc::reflection::v1::ServerReflectionResponse;

constexpr std::size_t kMaxEchoedName = 200;

/// The files of the services that this server has. Naming a type of each also makes the linker keep the file.
std::vector<const FileDescriptor*> ServedFiles() {
  return {inference::ModelInferRequest::descriptor()->file(),
          grpc::health::v1::HealthCheckRequest::descriptor()->file(), ServerReflectionRequest::descriptor()->file(),
          grpc::reflection::v1alpha::ServerReflectionRequest::descriptor()->file()};
}

void NotFound(const std::string& what, const std::string& name, ServerReflectionResponse* response) {
  auto* error = response->mutable_error_response();
  error->set_error_code(static_cast<int>(absl::StatusCode::kNotFound));
  error->set_error_message(absl::StrCat("no ", what, " '", CutText(name, kMaxEchoedName), "'"));
}

/// The file and all that it imports, each once, importers first.
void AddFiles(const FileDescriptor* file, std::set<const FileDescriptor*>* seen, ServerReflectionResponse* response) {
  if (!seen->insert(file).second) {
    return;
  }
  google::protobuf::FileDescriptorProto proto;
  file->CopyTo(&proto);
  response->mutable_file_descriptor_response()->add_file_descriptor_proto(proto.SerializeAsString());
  for (int i = 0; i < file->dependency_count(); ++i) {
    AddFiles(file->dependency(i), seen, response);
  }
}

void AnswerWithFile(const FileDescriptor* file, const std::string& what, const std::string& name,
                    ServerReflectionResponse* response) {
  if (file == nullptr) {
    NotFound(what, name, response);
    return;
  }
  std::set<const FileDescriptor*> seen;
  AddFiles(file, &seen, response);
}

void AnswerExtension(const grpc::reflection::v1::ExtensionRequest& request, const DescriptorPool& pool,
                     ServerReflectionResponse* response) {
  const Descriptor* type = pool.FindMessageTypeByName(request.containing_type());
  const FieldDescriptor* field =
      type == nullptr ? nullptr : pool.FindExtensionByNumber(type, request.extension_number());
  AnswerWithFile(field == nullptr ? nullptr : field->file(), "extension of",
                 absl::StrCat(request.containing_type(), " ", request.extension_number()), response);
}

void AnswerExtensionNumbers(const std::string& type_name, const DescriptorPool& pool,
                            ServerReflectionResponse* response) {
  const Descriptor* type = pool.FindMessageTypeByName(type_name);
  if (type == nullptr) {
    NotFound("message", type_name, response);
    return;
  }
  auto* numbers = response->mutable_all_extension_numbers_response();
  numbers->set_base_type_name(type_name);
  std::vector<const FieldDescriptor*> extensions;
  pool.FindAllExtensions(type, &extensions);
  for (const FieldDescriptor* extension : extensions) {
    numbers->add_extension_number(extension->number());
  }
}

void AnswerServices(ServerReflectionResponse* response) {
  auto* list = response->mutable_list_services_response();
  for (const FileDescriptor* file : ServedFiles()) {
    for (int i = 0; i < file->service_count(); ++i) {
      list->add_service()->set_name(file->service(i)->full_name());
    }
  }
}

}  // namespace

ServerReflectionResponse AnswerReflection(const ServerReflectionRequest& request) {
  const DescriptorPool& pool = *DescriptorPool::generated_pool();
  ServerReflectionResponse response;
  response.set_valid_host(request.host());
  *response.mutable_original_request() = request;
  switch (request.message_request_case()) {
    case ServerReflectionRequest::kFileByFilename:
      AnswerWithFile(pool.FindFileByName(request.file_by_filename()), "file", request.file_by_filename(), &response);
      break;
    case ServerReflectionRequest::kFileContainingSymbol:
      AnswerWithFile(pool.FindFileContainingSymbol(request.file_containing_symbol()), "symbol",
                     request.file_containing_symbol(), &response);
      break;
    case ServerReflectionRequest::kFileContainingExtension:
      AnswerExtension(request.file_containing_extension(), pool, &response);
      break;
    case ServerReflectionRequest::kAllExtensionNumbersOfType:
      AnswerExtensionNumbers(request.all_extension_numbers_of_type(), pool, &response);
      break;
    case ServerReflectionRequest::kListServices:
      AnswerServices(&response);
      break;
    case ServerReflectionRequest::MESSAGE_REQUEST_NOT_SET: {
      auto* error = response.mutable_error_response();
      error->set_error_code(static_cast<int>(absl::StatusCode::kInvalidArgument));
      error->set_error_message("message_request: expected a question, got none");
      break;
    }
  }
  return response;
}

}  // namespace kernelwire
