// Typed calls for the operators, one function each, by family. Options left out keep the server's defaults, which the
// comments name; what each one means stands in the operator's README and in `kernelwire describe OPERATOR`. Every
// operator, also one that has no function here, can be called by Client::Infer.
//
// Thread-safe. Errors: those of Client::Infer, and INTERNAL for a reply that lacks an output.
#ifndef KERNELWIRE_CLIENT_OPERATORS_H_
#define KERNELWIRE_CLIENT_OPERATORS_H_

#include "kernelwire/detections.h"  // Nms, DetectionPostprocess
#include "kernelwire/norms.h"       // RmsNorm, LayerNorm, AddRmsNorm
#include "kernelwire/reductions.h"  // Sum, Mean, Prod, Max, Min, Argmax, Argmin, Logsumexp, L2Norm, Dot
#include "kernelwire/softmax.h"     // Softmax, LogSoftmax

#endif  // KERNELWIRE_CLIENT_OPERATORS_H_
