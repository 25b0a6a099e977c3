// SPDX-License-Identifier: Apache-2.0
// The router's kernels in the list of kernels (kernels/kernel_list.h).
//   router_forward   reads logits [bias], writes weights experts
//   router_backward  reads dweights logits experts [scalars], writes dlogits
#pragma once

#include "kernels/kernel_arguments.h"
#include "kernels/kernel_descriptor.h"
#include "kernels/router/router_cuda.h"

namespace orrery::kernel {

inline bool router_takes(const KernelCall& key) {
    return key.variant < 16 && is_router_shape(router_shape(key));
}

struct RouterForward {
    static bool operands(OperandForms& forms, const KernelCall& call) {
        const RouterShape s = router_shape(call);
        forms.read({s.tokens, 1, s.experts});
        if (s.biased) {
            forms.add(Access::read, Dtype::fp32, {s.experts});
        }
        forms.add(Access::write, Dtype::fp32, {s.tokens, 1, s.k});
        forms.add(Access::write, Dtype::int32, {s.tokens, 1, s.k});
        return true;
    }
    static constexpr KernelDescriptor kDescriptor{
        .kind = KernelKind::router_forward,
        .num_dims = 5,
        .takes = router_takes,
        .call = [](const KernelCall& key) { return router_forward(router_shape(key), key.dtype); },
        .operands = operands};

    static void run(const KernelArguments& op);
    template <class Queue>
    static void launch(Queue& queue, const KernelArguments& op) {
        device::router_forward(queue,
                               router_shape(op.call),
                               op.reads[0].view,
                               op.reads.size() > 1 ? op.reads[1].view : TensorView{},
                               op.writes[0].view,
                               op.writes[1].view);
    }
    static std::string why_not_on_cuda(const KernelCall& call) {
        return device::why_no_router(router_shape(call));
    }
};

struct RouterBackward {
    static bool operands(OperandForms& forms, const KernelCall& call) {
        const RouterShape s = router_shape(call);
        forms.add(Access::read, Dtype::fp32, {s.tokens, 1, s.k});
        forms.read({s.tokens, 1, s.experts});
        forms.ids({s.tokens, 1, s.k}, s.experts);
        if (s.balanced) {
            forms.scalars();
        }
        forms.write({s.tokens, 1, s.experts});
        return true;
    }
    static constexpr KernelDescriptor kDescriptor{
        .kind = KernelKind::router_backward,
        .num_dims = 5,
        .takes = router_takes,
        .call = [](const KernelCall& key) { return router_backward(router_shape(key), key.dtype); },
        .operands = operands};

    static void run(const KernelArguments& op);
    template <class Queue>
    static void launch(Queue& queue, const KernelArguments& op) {
        device::router_backward(queue,
                                router_shape(op.call),
                                op.reads[0].view,
                                op.reads[1].view,
                                op.reads[2].view,
                                op.writes[0].view);
    }
    static std::string why_not_on_cuda(const KernelCall& call) {
        return device::why_no_router(router_shape(call));
    }
};

}  // namespace orrery::kernel
