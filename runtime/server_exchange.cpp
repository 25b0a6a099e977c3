// SPDX-License-Identifier: Apache-2.0
#include "runtime/server_exchange.h"

#include <algorithm>
#include <cstring>
#include <numeric>

#include "engine/base/check.h"

namespace orrery {
namespace {

using Counts = std::vector<std::int64_t>;

// Numbers of elements as words, so that a communicator can move them.
TensorView words_of(Counts& counts) {
    return {reinterpret_cast<std::byte*>(counts.data()),
            Dtype::int32,
            static_cast<std::int64_t>(counts.size()) * 2};
}

std::size_t total(std::span<const std::int64_t> counts) {
    return static_cast<std::size_t>(std::accumulate(counts.begin(), counts.end(), std::int64_t{0}));
}

// Blocks of elements that can be reordered.
class Blocks {
public:
    Blocks(Dtype dtype, std::size_t elements)
        : dtype_(dtype), bytes_(elements * static_cast<std::size_t>(size_bytes(dtype))) {}
    TensorView view() {
        return {
            bytes_.data(), dtype_, static_cast<std::int64_t>(bytes_.size()) / size_bytes(dtype_)};
    }
    // Appends `count` elements of `from`, from `first` on.
    void append(ConstTensorView from, std::int64_t first, std::int64_t count) {
        const std::int64_t element = size_bytes(dtype_);
        if (count > 0) {
            std::memcpy(bytes_.data() + used_,
                        from.data + first * element,
                        static_cast<std::size_t>(count * element));
        }
        used_ += count * element;
        ORRERY_CHECK(used_ <= static_cast<std::int64_t>(bytes_.size()));
    }

private:
    Dtype dtype_;
    std::vector<std::byte> bytes_;
    std::int64_t used_ = 0;
};

// A table of counts in row order, and the begin of each block in that order.
struct Table {
    std::size_t columns = 0;
    Counts counts{};

    std::int64_t at(std::size_t row, std::size_t column) const {
        return counts[row * columns + column];
    }
    Counts begins() const {
        Counts first(counts.size());
        std::exclusive_scan(counts.begin(), counts.end(), first.begin(), std::int64_t{0});
        return first;
    }
    Counts row_sums() const {
        Counts sums;
        for (std::size_t row = 0; row * columns < counts.size(); ++row) {
            sums.push_back(static_cast<std::int64_t>(
                total(std::span{counts}.subspan(row * columns, columns))));
        }
        return sums;
    }
    // The transpose.
    Table turned() const {
        const std::size_t rows = counts.size() / columns;
        Table other{.columns = rows};
        for (std::size_t column = 0; column < columns; ++column) {
            for (std::size_t row = 0; row < rows; ++row) {
                other.counts.push_back(at(row, column));
            }
        }
        return other;
    }
};

// The blocks of a row-ordered table in column order.
Blocks turned_blocks(const Table& table, ConstTensorView in) {
    const Counts first = table.begins();
    Blocks turned{in.dtype, total(table.counts)};
    const std::size_t rows = table.counts.size() / table.columns;
    for (std::size_t column = 0; column < table.columns; ++column) {
        for (std::size_t row = 0; row < rows; ++row) {
            turned.append(in, first[row * table.columns + column], table.at(row, column));
        }
    }
    return turned;
}

// Exchanges equal parts of counts: one for each member, and one from each member.
Result<Counts> exchange_counts(Communicator& members, Counts counts) {
    Counts theirs(counts.size());
    const Result<void> done = members.all_to_all(words_of(counts), words_of(theirs));
    return done ? Result<Counts>{std::move(theirs)} : unexpected<Error>(done.error());
}

Result<void> in_two_steps(ServerCommunicators& by,
                          ConstTensorView in,
                          std::span<const std::int64_t> sent,
                          TensorView out,
                          std::span<const std::int64_t> received) {
    const std::size_t ranks = by.inside.size();
    const std::size_t servers = by.across.size();
    // By server and local index; then by local index first.
    const Table own{.columns = ranks, .counts = {sent.begin(), sent.end()}};
    const Table by_index = own.turned();
    Result<Counts> counts = exchange_counts(by.inside, by_index.counts);
    if (!counts) {
        return unexpected<Error>(counts.error());
    }
    // By local index of the sender and server of the receiver.
    const Table met{.columns = servers, .counts = std::move(*counts)};
    Blocks to_index = turned_blocks(own, in);
    Blocks of_server{in.dtype, total(met.counts)};
    Result<void> done = by.inside.all_to_all_parts(
        to_index.view(), by_index.row_sums(), of_server.view(), met.row_sums());
    if (!done) {
        return done;
    }
    Blocks to_server = turned_blocks(met, of_server.view());
    const Table from{.columns = ranks, .counts = {received.begin(), received.end()}};
    return by.across.all_to_all_parts(
        to_server.view(), met.turned().row_sums(), out, from.row_sums());
}

// The counts that a server's first rank needs from all ranks of the server: by sender, server and
// local index of the receiver.
Result<Counts> counts_of_server(Communicator& inside, std::span<const std::int64_t> sent) {
    Counts own(sent.begin(), sent.end());
    Counts all(own.size() * inside.size());
    const Result<void> done = inside.all_gather(words_of(own), words_of(all));
    return done ? Result<Counts>{std::move(all)} : unexpected<Error>(done.error());
}

// The exchange between first ranks. `gathered` has the rows of the server's ranks, rank by rank.
// The result has the rows for the server's ranks, rank by rank.
Result<Blocks> between_leaders(Communicator& across,
                               std::size_t ranks,
                               const Counts& counts,
                               ConstTensorView gathered,
                               Counts& for_ranks) {
    const std::size_t servers = across.size();
    // To a server: by local index of the receiver, then of the sender.
    const auto block = [&](std::size_t sender, std::size_t server, std::size_t receiver) {
        return (sender * servers + server) * ranks + receiver;
    };
    const Counts first = Table{.columns = 1, .counts = counts}.begins();
    Blocks to_servers{gathered.dtype, total(counts)};
    Table sent{.columns = ranks * ranks};
    for (std::size_t server = 0; server < servers; ++server) {
        for (std::size_t receiver = 0; receiver < ranks; ++receiver) {
            for (std::size_t sender = 0; sender < ranks; ++sender) {
                const std::size_t i = block(sender, server, receiver);
                to_servers.append(gathered, first[i], counts[i]);
                sent.counts.push_back(counts[i]);
            }
        }
    }
    Result<Counts> theirs = exchange_counts(across, sent.counts);
    if (!theirs) {
        return unexpected<Error>(theirs.error());
    }
    const Table received{.columns = ranks * ranks, .counts = *theirs};
    Blocks arrived{gathered.dtype, total(received.counts)};
    if (const Result<void> done = across.all_to_all_parts(
            to_servers.view(), sent.row_sums(), arrived.view(), received.row_sums());
        !done) {
        return unexpected<Error>(done.error());
    }
    // By server and receiver: a receiver gets its part from each server.
    Table to_receivers{.columns = ranks};
    for (std::size_t i = 0; i < theirs->size(); i += ranks) {
        to_receivers.counts.push_back(
            static_cast<std::int64_t>(total(std::span{*theirs}.subspan(i, ranks))));
    }
    for_ranks = to_receivers.turned().row_sums();
    return turned_blocks(to_receivers, arrived.view());
}

Result<void> by_leaders(ServerCommunicators& by,
                        ConstTensorView in,
                        std::span<const std::int64_t> sent,
                        TensorView out,
                        std::span<const std::int64_t> received) {
    const std::size_t ranks = by.inside.size();
    const bool leads = by.inside.rank() == 0;
    Result<Counts> counts = counts_of_server(by.inside, sent);
    if (!counts) {
        return unexpected<Error>(counts.error());
    }
    const auto to_leader = [&](std::size_t elements) {
        Counts parts(ranks);
        parts[0] = static_cast<std::int64_t>(elements);
        return parts;
    };
    const Table of_ranks{.columns = sent.size(), .counts = *counts};
    Blocks gathered{in.dtype, leads ? total(*counts) : 0};
    Result<void> done = by.inside.all_to_all_parts(
        in, to_leader(total(sent)), gathered.view(), leads ? of_ranks.row_sums() : Counts(ranks));
    if (!done) {
        return done;
    }
    Blocks arrived{in.dtype, 0};
    Counts for_ranks(ranks);
    if (leads) {
        Result<Blocks> made =
            between_leaders(by.across, ranks, *counts, gathered.view(), for_ranks);
        if (!made) {
            return unexpected<Error>(made.error());
        }
        arrived = std::move(*made);
    }
    return by.inside.all_to_all_parts(arrived.view(), for_ranks, out, to_leader(total(received)));
}

}  // namespace

std::optional<ServersOfMembers> servers_of(std::span<const std::uint32_t> members,
                                           std::uint32_t ranks_of_node) {
    ORRERY_CHECK(ranks_of_node > 0 && !members.empty());
    const auto node = [&](std::size_t i) { return members[i] / ranks_of_node; };
    std::size_t ranks = 1;
    while (ranks < members.size() && node(ranks) == node(0)) {
        ++ranks;
    }
    bool even = members.size() % ranks == 0;
    for (std::size_t i = 0; even && i < members.size(); ++i) {
        even = node(i) == node(i / ranks * ranks) &&
               (i < ranks || i % ranks != 0 || node(i) != node(i - 1));
    }
    return even ? std::optional{ServersOfMembers{static_cast<std::uint32_t>(members.size() / ranks),
                                                 static_cast<std::uint32_t>(ranks)}}
                : std::nullopt;
}

Result<void> exchange_by_servers(ServerRoute route,
                                 ServerCommunicators& by,
                                 ConstTensorView in,
                                 std::span<const std::int64_t> sent,
                                 TensorView out,
                                 std::span<const std::int64_t> received) {
    ORRERY_CHECK(sent.size() == std::size_t{by.inside.size()} * by.across.size());
    ORRERY_CHECK(received.size() == sent.size());
    return route == ServerRoute::two_steps ? in_two_steps(by, in, sent, out, received)
                                           : by_leaders(by, in, sent, out, received);
}

}  // namespace orrery
