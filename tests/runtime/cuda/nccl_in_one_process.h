// SPDX-License-Identifier: Apache-2.0
// What NCCL's documentation says that collectives compute, on the host, for the transfer plans of
// all members of a communicator at once. Sums are in fp32, pairwise in the order of the
// members as the processes on CPUs take them.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <vector>

#include "kernels/pairwise_sum.h"
#include "runtime/cuda/nccl_transfer.h"

namespace orrery {

class NcclInOneProcess {
public:
    // One plan a member, of one communicator, in the order of its members.
    static void run(const std::vector<NcclTransfer>& plans) {
        for (const NcclTransfer& plan : plans) {
            copy(plan.before);
        }
        for (std::size_t c = 0; c < plans.front().calls.size(); ++c) {
            const bool message = is_message(plans.front().calls[c]);
            ASSERT_TRUE(message || same_call(plans, c));
            if (!message) {
                collective(plans, c);
            }
        }
        messages(plans);
        for (const NcclTransfer& plan : plans) {
            copy(plan.after);
            for (const DeviceSum& sum : plan.sums) {
                for (std::int64_t i = 0; i < sum.to.size; ++i) {
                    store(sum.to, i, load(sum.to, i) + load(sum.from, i));
                }
            }
        }
    }

private:
    using Bytes = std::vector<std::byte>;

    static bool is_message(const NcclCall& call) {
        return call.function == NcclCallKind::send || call.function == NcclCallKind::recv;
    }
    static bool same_call(const std::vector<NcclTransfer>& plans, std::size_t c) {
        const NcclCall& first = plans.front().calls[c];
        for (const NcclTransfer& plan : plans) {
            const NcclCall& call = plan.calls.at(c);
            if (call.function != first.function || call.count != first.count ||
                call.peer != first.peer || call.dtype != first.dtype) {
                return false;
            }
        }
        return true;
    }
    static void copy(const std::vector<DeviceCopy>& copies) {
        for (const DeviceCopy& c : copies) {
            for (std::int64_t row = 0; row < c.shape.rows; ++row) {
                std::memcpy(c.to + (c.shape.to + row * c.shape.to_pitch) * c.element,
                            c.from + (c.shape.from + row * c.shape.from_pitch) * c.element,
                            static_cast<std::size_t>(c.shape.width * c.element));
            }
        }
    }

    // What each member sends is read before anybody writes: calls may be in place.
    static void collective(const std::vector<NcclTransfer>& plans, std::size_t c) {
        const NcclCall& call = plans.front().calls[c];
        const auto members = static_cast<std::int64_t>(plans.size());
        const std::int64_t sent =
            call.function == NcclCallKind::reduce_scatter ? call.count * members : call.count;
        const std::int64_t element = size_bytes(call.dtype);
        std::vector<Bytes> in;
        for (const NcclTransfer& plan : plans) {
            const std::byte* data = plan.calls[c].in;
            in.emplace_back(data, data + sent * element);
        }
        for (std::int64_t m = 0; m < members; ++m) {
            const NcclCall& own = plans[static_cast<std::size_t>(m)].calls[c];
            const TensorView out{own.out, call.dtype, call.count};
            switch (call.function) {
                case NcclCallKind::all_gather:
                    for (std::int64_t other = 0; other < members; ++other) {
                        std::memcpy(own.out + other * call.count * element,
                                    in[static_cast<std::size_t>(other)].data(),
                                    static_cast<std::size_t>(call.count * element));
                    }
                    break;
                case NcclCallKind::broadcast:
                    std::memcpy(own.out,
                                in[call.peer].data(),
                                static_cast<std::size_t>(call.count * element));
                    break;
                case NcclCallKind::reduce:
                    if (m == call.peer) {
                        reduce(in, call, 0, out);
                    }
                    break;
                default:
                    reduce(in,
                           call,
                           call.function == NcclCallKind::reduce_scatter ? m * call.count : 0,
                           out);
            }
        }
    }

    static void reduce(const std::vector<Bytes>& in,
                       const NcclCall& call,
                       std::int64_t first,
                       TensorView out) {
        const auto view = [&](std::size_t m) {
            return ConstTensorView{in[m].data(), call.dtype, first + out.size};
        };
        if (call.reduction != Reduction::max) {
            PairwiseSum sum{static_cast<std::size_t>(out.size)};
            for (std::size_t m = 0; m < in.size(); ++m) {
                load_row(view(m), first, sum.next());
                sum.add_next();
            }
            return store_row(out, 0, sum.total());
        }
        for (std::int64_t i = 0; i < out.size; ++i) {
            float largest = load(view(0), first + i);
            for (std::size_t m = 1; m < in.size(); ++m) {
                largest = std::max(largest, load(view(m), first + i));
            }
            store(out, i, largest);
        }
    }

    // The k-th message from a to b is received by the k-th receive of b from a.
    static void messages(const std::vector<NcclTransfer>& plans) {
        std::map<std::pair<std::size_t, std::size_t>, std::vector<Bytes>> sent;
        for (std::size_t m = 0; m < plans.size(); ++m) {
            for (const NcclCall& call : plans[m].calls) {
                if (call.function == NcclCallKind::send) {
                    const std::int64_t bytes = call.count * size_bytes(call.dtype);
                    sent[{m, call.peer}].emplace_back(call.in, call.in + bytes);
                }
            }
        }
        std::map<std::pair<std::size_t, std::size_t>, std::size_t> received;
        for (std::size_t m = 0; m < plans.size(); ++m) {
            for (const NcclCall& call : plans[m].calls) {
                if (call.function == NcclCallKind::recv) {
                    const std::pair<std::size_t, std::size_t> pair{call.peer, m};
                    const Bytes& message = sent.at(pair).at(received[pair]++);
                    ASSERT_EQ(static_cast<std::int64_t>(message.size()),
                              call.count * size_bytes(call.dtype));
                    std::memcpy(call.out, message.data(), message.size());
                }
            }
        }
    }
};

}  // namespace orrery
