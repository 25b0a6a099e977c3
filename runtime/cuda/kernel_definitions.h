// SPDX-License-Identifier: Apache-2.0
// Host functions and device code of all CUDA kernels, for queues that the .cu files do not
// instantiate: the recording and the emulating ones. Not for CudaQueue, whose launches only nvcc
// can compile.
#pragma once

#include "kernels/activation/activation_device.h"
#include "kernels/adapters/adapters_device.h"
#include "kernels/attention/attention_device.h"
#include "kernels/attention/key_value_device.h"
#include "kernels/cast/cast_device.h"
#include "kernels/cross_entropy/cross_entropy_device.h"
#include "kernels/embedding/embedding_device.h"
#include "kernels/layernorm/layernorm_device.h"
#include "kernels/optimizer/optimizer_device.h"
#include "kernels/paged_attention/paged_attention_device.h"
#include "kernels/quantise/quantise_device.h"
#include "kernels/residual/residual_device.h"
#include "kernels/rmsnorm/rmsnorm_device.h"
#include "kernels/rope/rope_device.h"
#include "kernels/router/router_device.h"
#include "kernels/softmax/softmax_device.h"
