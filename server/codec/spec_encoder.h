// An operator's spec as the protocol's metadata and configuration.
#ifndef KERNELWIRE_SERVER_CODEC_SPEC_ENCODER_H_
#define KERNELWIRE_SERVER_CODEC_SPEC_ENCODER_H_

#include "model_config.pb.h"
#include "open_inference.pb.h"
#include "server/catalog/catalog.h"

namespace kernelwire {

/// Name, version, and every input and output. FP8 is listed as UINT8: clients do not know it.
inference::ModelMetadataResponse EncodeMetadata(const Model& model);

/// The same tensors, optional inputs marked as such, and what the operator's attributes are, as parameters by their
/// names. No batch dimension (max_batch_size 0): shapes are what a request says; requests are batched nevertheless.
inference::ModelConfig EncodeConfig(const Model& model);

}  // namespace kernelwire

#endif  // KERNELWIRE_SERVER_CODEC_SPEC_ENCODER_H_
