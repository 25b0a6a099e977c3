// SPDX-License-Identifier: Apache-2.0
#include "runtime/communication/communicator.h"

#include <algorithm>
#include <numeric>

#include "kernels/pairwise_sum.h"
#include "network/collectives/peer_order.h"

namespace orrery {
namespace {

// Vectors up to this size are sent whole to all members, because the number of messages determines
// the time.
constexpr std::int64_t kFewBytes = 16 << 10;

constexpr std::int64_t kElementsAtOnce = 4096;

// out = the sum or the maximum of the members' vectors, which have the size of `out`.
template <class VectorOf>
void reduce(std::uint32_t members, bool sums, TensorView out, const VectorOf& vector_of) {
    for (std::int64_t first = 0; first < out.size; first += kElementsAtOnce) {
        const auto count = static_cast<std::size_t>(std::min(kElementsAtOnce, out.size - first));
        PairwiseSum sum{count};
        std::vector<float> largest;
        for (std::uint32_t m = 0; m < members; ++m) {
            const std::span<float> row = sum.next();
            load_row(vector_of(m), first, row);
            if (sums) {
                sum.add_next();
            } else if (m == 0) {
                largest.assign(row.begin(), row.end());
            } else {
                std::ranges::transform(
                    row, largest, largest.begin(), [](float x, float y) { return std::max(y, x); });
            }
        }
        store_row(out, first, sums ? sum.total() : std::span{largest});
    }
}

}  // namespace

std::uint64_t message_tag(std::uint32_t id, std::uint32_t lane) {
    return std::uint64_t{id} << 8 | lane;
}

Communicator::Communicator(Transport& transport,
                           std::vector<std::uint32_t> members,
                           std::uint32_t id)
    : transport_(transport), members_(std::move(members)), tag_(message_tag(id, 0)) {
    const auto self = std::ranges::find(members_, transport.rank());
    ORRERY_CHECK(self != members_.end());
    position_ = static_cast<std::uint32_t>(self - members_.begin());
}

Communicator::Range Communicator::part(std::int64_t elements, std::uint32_t member) const {
    const std::int64_t n = size();
    const std::int64_t rest = elements % n;
    const std::int64_t m = member;
    return {m * (elements / n) + std::min(m, rest), elements / n + (m < rest ? 1 : 0)};
}

Message Communicator::message(bool is_send,
                              std::uint32_t member,
                              std::byte* data,
                              std::int64_t bytes) const {
    return {.is_send = is_send,
            .peer = members_[member],
            .tag = tag_,
            .bytes = {data, static_cast<std::size_t>(bytes)}};
}

Result<void> Communicator::reduce_part(ConstTensorView in, TensorView out, Reduction reduction) {
    const std::int64_t element = size_bytes(in.dtype);
    const Range own = part(in.size, position_);
    received_.resize(static_cast<std::size_t>(size() * own.count * element));
    // Sent bytes are only read.
    auto* const source = const_cast<std::byte*>(in.data);  // NOLINT(*-const-cast)
    std::vector<Message> messages;
    for (std::uint32_t m = 0; m < size(); ++m) {
        if (m == position_) {
            continue;
        }
        const Range theirs = part(in.size, m);
        messages.push_back(
            message(true, m, source + theirs.first * element, theirs.count * element));
        messages.push_back(
            message(false, m, received_.data() + m * own.count * element, own.count * element));
    }
    if (const Result<void> done = transport_.exchange(messages); !done) {
        return done;
    }
    reduce(size(), reduction == Reduction::sum, out, [&](std::uint32_t m) {
        return m == position_
                   ? slice(in, own.first, own.count)
                   : ConstTensorView{
                         received_.data() + m * own.count * element, in.dtype, own.count};
    });
    return {};
}

Result<void> Communicator::gather_parts(TensorView vector) {
    const std::int64_t element = size_bytes(vector.dtype);
    const Range own = part(vector.size, position_);
    std::vector<Message> messages;
    for (std::uint32_t m = 0; m < size(); ++m) {
        if (m == position_) {
            continue;
        }
        const Range theirs = part(vector.size, m);
        messages.push_back(
            message(true, m, vector.data + own.first * element, own.count * element));
        messages.push_back(
            message(false, m, vector.data + theirs.first * element, theirs.count * element));
    }
    return transport_.exchange(messages);
}

// All members send their whole vector to all: half the messages, and the same bits.
Result<void> Communicator::reduce_by_all(TensorView vector, Reduction reduction) {
    const std::int64_t bytes = vector.size * size_bytes(vector.dtype);
    received_.resize(static_cast<std::size_t>(size() * bytes));
    std::vector<Message> messages;
    for (std::uint32_t m = 0; m < size(); ++m) {
        if (m != position_) {
            messages.push_back(message(true, m, vector.data, bytes));
            messages.push_back(message(false, m, received_.data() + m * bytes, bytes));
        }
    }
    if (const Result<void> done = transport_.exchange(messages); !done) {
        return done;
    }
    if (bytes > 0) {  // an empty vector may have no address
        std::memcpy(
            received_.data() + position_ * bytes, vector.data, static_cast<std::size_t>(bytes));
    }
    reduce(size(), reduction == Reduction::sum, vector, [&](std::uint32_t m) {
        return ConstTensorView{received_.data() + m * bytes, vector.dtype, vector.size};
    });
    return {};
}

Result<void> Communicator::reduce_everywhere(TensorView vector, Reduction reduction) {
    if (size() == 1) {
        return {};
    }
    // Between two ranks this does not even need more bytes.
    if (size() == 2 || vector.size * size_bytes(vector.dtype) <= kFewBytes) {
        return reduce_by_all(vector, reduction);
    }
    const Range own = part(vector.size, position_);
    const Result<void> reduced =
        reduce_part(vector, slice(vector, own.first, own.count), reduction);
    return reduced ? gather_parts(vector) : reduced;
}

Result<void> Communicator::all_reduce(TensorView vector) {
    return reduce_everywhere(vector, Reduction::sum);
}

Result<void> Communicator::all_reduce_max(TensorView vector) {
    return reduce_everywhere(vector, Reduction::max);
}

Result<void> Communicator::all_gather(ConstTensorView in, TensorView out) {
    ORRERY_CHECK(out.size == in.size * size() && in.dtype == out.dtype);
    const std::int64_t bytes = in.size * size_bytes(in.dtype);
    // `in` may be this member's part of `out`.
    std::memmove(out.data + position_ * bytes, in.data, static_cast<std::size_t>(bytes));
    return size() == 1 ? Result<void>{} : gather_parts(out);
}

Result<void> Communicator::reduce_scatter(ConstTensorView in, TensorView out) {
    ORRERY_CHECK(in.size == out.size * size() && in.dtype == out.dtype);
    if (size() == 1) {
        std::memmove(out.data, in.data, static_cast<std::size_t>(in.size * size_bytes(in.dtype)));
        return {};
    }
    return reduce_part(in, out, Reduction::sum);
}

Result<void> Communicator::all_to_all(ConstTensorView in, TensorView out) {
    ORRERY_CHECK(in.size == out.size && in.size % size() == 0);
    const std::vector<std::int64_t> equal(size(), in.size / size());
    return all_to_all_parts(in, equal, out, equal);
}

Result<void> Communicator::all_to_all_parts(ConstTensorView in,
                                            std::span<const std::int64_t> sent,
                                            TensorView out,
                                            std::span<const std::int64_t> received) {
    ORRERY_CHECK(in.dtype == out.dtype && sent.size() == size() && received.size() == size());
    const std::int64_t element = size_bytes(in.dtype);
    auto* const source = const_cast<std::byte*>(in.data);  // NOLINT(*-const-cast)
    std::vector<std::int64_t> of_sent(size());             // begin of each member's part
    std::vector<std::int64_t> of_received(size());
    std::exclusive_scan(sent.begin(), sent.end(), of_sent.begin(), std::int64_t{0});
    std::exclusive_scan(received.begin(), received.end(), of_received.begin(), std::int64_t{0});
    ORRERY_CHECK(of_sent.back() + sent.back() <= in.size);
    ORRERY_CHECK(of_received.back() + received.back() <= out.size);
    std::vector<Message> messages;
    for (const std::uint32_t distance : nccl_peer_order(size())) {
        const std::uint32_t to = (position_ + distance) % size();
        const std::uint32_t from = (position_ + size() - distance) % size();
        std::byte* const first_sent = source + of_sent[to] * element;
        std::byte* const first_received = out.data + of_received[from] * element;
        if (distance == 0) {
            ORRERY_CHECK(sent[to] == received[from]);
            if (sent[to] > 0) {  // a view without elements has no address
                std::memmove(
                    first_received, first_sent, static_cast<std::size_t>(sent[to] * element));
            }
            continue;
        }
        if (sent[to] > 0) {
            messages.push_back(message(true, to, first_sent, sent[to] * element));
        }
        if (received[from] > 0) {
            messages.push_back(message(false, from, first_received, received[from] * element));
        }
    }
    return transport_.exchange(messages);
}

Result<void> Communicator::all_gather_parts(ConstTensorView in,
                                            TensorView out,
                                            std::span<const std::int64_t> parts) {
    ORRERY_CHECK(in.dtype == out.dtype && parts.size() == size());
    const std::int64_t element = size_bytes(in.dtype);
    auto* const source = const_cast<std::byte*>(in.data);  // NOLINT(*-const-cast)
    const std::int64_t own = parts[position_] * element;
    std::vector<Message> messages;
    std::byte* place = out.data;
    for (std::uint32_t m = 0; m < size(); ++m) {
        const std::int64_t theirs = parts[m] * element;
        ORRERY_CHECK(place + theirs <= out.data + out.size * element);
        if (m == position_ && own > 0) {
            std::memmove(place, source, static_cast<std::size_t>(own));
        }
        if (m != position_ && own > 0) {
            messages.push_back(message(true, m, source, own));
        }
        if (m != position_ && theirs > 0) {
            messages.push_back(message(false, m, place, theirs));
        }
        place += theirs;
    }
    return transport_.exchange(messages);
}

Result<void> Communicator::reduce_scatter_parts(ConstTensorView in,
                                                std::span<const std::int64_t> parts,
                                                TensorView out) {
    ORRERY_CHECK(in.dtype == out.dtype && parts.size() == size());
    const std::int64_t element = size_bytes(in.dtype);
    const std::int64_t own = parts[position_];
    ORRERY_CHECK(own <= out.size);
    received_.resize(static_cast<std::size_t>(size() * own * element));
    auto* const source = const_cast<std::byte*>(in.data);  // NOLINT(*-const-cast)
    std::vector<Message> messages;
    std::int64_t first = 0;
    std::int64_t own_first = 0;
    for (std::uint32_t m = 0; m < size(); ++m) {
        own_first = m == position_ ? first : own_first;
        if (m != position_ && parts[m] > 0) {
            messages.push_back(message(true, m, source + first * element, parts[m] * element));
        }
        if (m != position_ && own > 0) {
            messages.push_back(
                message(false, m, received_.data() + m * own * element, own * element));
        }
        first += parts[m];
    }
    ORRERY_CHECK(first <= in.size);
    if (const Result<void> done = transport_.exchange(messages); !done) {
        return done;
    }
    reduce(size(), true, slice(out, 0, own), [&](std::uint32_t m) {
        return m == position_
                   ? slice(in, own_first, own)
                   : ConstTensorView{received_.data() + m * own * element, in.dtype, own};
    });
    return {};
}

Result<void> Communicator::broadcast(TensorView vector, std::uint32_t root) {
    ORRERY_CHECK(root < size());
    const std::int64_t bytes = vector.size * size_bytes(vector.dtype);
    std::vector<Message> messages;
    for (std::uint32_t m = 0; m < size(); ++m) {
        if (position_ == root && m != root) {
            messages.push_back(message(true, m, vector.data, bytes));
        }
    }
    if (position_ != root) {
        messages.push_back(message(false, root, vector.data, bytes));
    }
    return transport_.exchange(messages);
}

Result<void> Communicator::barrier() {
    float nothing = 0;
    return all_reduce(view_of({&nothing, 1}));
}

}  // namespace orrery
