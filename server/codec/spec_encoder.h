// An operator's spec as the protocol's metadata and configuration.
#ifndef KERNELWIRE_SERVER_CODEC_SPEC_ENCODER_H_
#define KERNELWIRE_SERVER_CODEC_SPEC_ENCODER_H_

#include "model_config.pb.h"
#include "open_inference.pb.h"
#include "server/catalog/catalog.h"

namespace kernelwire {

inference::ModelMetadataResponse EncodeMetadata(const Model& model);
inference::ModelConfig EncodeConfig(const Model& model);

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_CODEC_SPEC_ENCODER_H_
