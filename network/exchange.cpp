// SPDX-License-Identifier: Apache-2.0
#include "network/exchange.h"

#include <algorithm>
#include <utility>

#include "engine/base/check.h"

namespace orrery {
namespace {

// The sums of the messages between members.
class MessageTable {
public:
    explicit MessageTable(std::uint32_t ranks)
        : ranks_(ranks), rows_(std::size_t{ranks} * ranks, 0) {}
    void add(std::uint32_t from, std::uint32_t to, double rows) {
        rows_[std::size_t{from} * ranks_ + to] += rows;
    }
    ExchangePhase phase(double row_bytes) const {
        ExchangePhase phase;
        phase.messages.reserve(rows_.size());
        for (std::uint32_t from = 0; from < ranks_; ++from) {
            for (std::uint32_t to = 0; to < ranks_; ++to) {
                const double rows = rows_[std::size_t{from} * ranks_ + to];
                if (rows > 0) {
                    phase.messages.push_back({from, to, rows * row_bytes, rows});
                }
            }
        }
        return phase;
    }

private:
    std::uint32_t ranks_;
    std::vector<double> rows_;
};

class PhaseMaker {
public:
    explicit PhaseMaker(const Exchange& exchange)
        : rows_(exchange.rows),
          n_(rows_.ranks),
          of_server_(rows_.ranks / rows_.servers),
          row_bytes_(wire_bytes(exchange)) {
        ORRERY_CHECK(rows_.servers > 0 && rows_.ranks % rows_.servers == 0);
        ORRERY_CHECK(rows_.choices.size() == std::size_t{n_} * n_);
    }

    std::vector<ExchangePhase> pairs() const {
        ExchangePhase phase;
        phase.messages.reserve(rows_.choices.size());
        for_each_pair([&](std::uint32_t from, std::uint32_t to, double rows) {
            if (rows > 0) {
                phase.messages.push_back({from, to, rows * row_bytes_, rows});
            }
        });
        return one(std::move(phase));
    }

    // Messages inside the server go directly, at the same time as those to the leader.
    std::vector<ExchangePhase> leaders() const {
        MessageTable gather(n_);
        MessageTable cross(n_);
        MessageTable scatter(n_);
        for_each_pair([&](std::uint32_t from, std::uint32_t to, double rows) {
            if (server(from) == server(to)) {
                gather.add(from, to, rows);
                return;
            }
            gather.add(from, member(server(from), 0), rows);
            cross.add(member(server(from), 0), member(server(to), 0), rows);
            scatter.add(member(server(to), 0), to, rows);
        });
        return {gather.phase(row_bytes_), cross.phase(row_bytes_), scatter.phase(row_bytes_)};
    }

    std::vector<ExchangePhase> two_steps() const {
        MessageTable inside(n_);
        MessageTable across(n_);
        for_each_pair([&](std::uint32_t from, std::uint32_t to, double rows) {
            const std::uint32_t via = member(server(from), to % of_server_);
            inside.add(from, via, rows);
            across.add(via, to, rows);
        });
        return {inside.phase(row_bytes_), across.phase(row_bytes_)};
    }

    // Forwarders send rows on as soon as they arrive.
    std::vector<ExchangePhase> two_level() const {
        MessageTable table(n_);
        for (std::uint32_t from = 0; from < n_; ++from) {
            for (std::uint32_t s = 0; s < rows_.servers; ++s) {
                if (s != server(from)) {
                    table.add(from,
                              member(s, from % of_server_),
                              rows_.crossing[std::size_t{from} * rows_.servers + s]);
                }
            }
            for (std::uint32_t to = 0; to < n_; ++to) {
                const std::uint32_t forwarder = member(server(to), from % of_server_);
                table.add(forwarder, to, rows_.distinct[std::size_t{from} * n_ + to]);
            }
        }
        return one(table.phase(row_bytes_));
    }

private:
    // Moves the phase instead of copying its many messages.
    static std::vector<ExchangePhase> one(ExchangePhase phase) {
        std::vector<ExchangePhase> phases;
        phases.push_back(std::move(phase));
        return phases;
    }

    template <class Visit>
    void for_each_pair(Visit visit) const {
        for (std::uint32_t from = 0; from < n_; ++from) {
            for (std::uint32_t to = 0; to < n_; ++to) {
                visit(from, to, rows_.choices[std::size_t{from} * n_ + to]);
            }
        }
    }
    std::uint32_t server(std::uint32_t position) const { return position / of_server_; }
    std::uint32_t member(std::uint32_t server, std::uint32_t local) const {
        return server * of_server_ + local;
    }

    const RoutedRows& rows_;
    std::uint32_t n_;
    std::uint32_t of_server_;
    double row_bytes_;
};

std::vector<ExchangePhase> dispatch_phases(const Exchange& exchange) {
    const PhaseMaker maker(exchange);
    switch (exchange.dispatcher->route) {
        case DispatchRoute::pairs:
        case DispatchRoute::direct:
            return maker.pairs();
        case DispatchRoute::leaders:
            return maker.leaders();
        case DispatchRoute::two_steps:
            return maker.two_steps();
        case DispatchRoute::two_level:
            return maker.two_level();
        case DispatchRoute::everyone:
            break;
    }
    return {};
}

}  // namespace

double wire_bytes(const Exchange& exchange) {
    const Dispatcher& by = *exchange.dispatcher;
    const RoutedRows& rows = exchange.rows;
    const std::uint32_t of_experts =
        exchange.combine ? 0 : by.expert_bytes * (rows.experts / rows.servers);
    return static_cast<double>(exchange.row.count()) + by.row_header + of_experts;
}

std::vector<ExchangePhase> exchange_phases(const Exchange& exchange) {
    ORRERY_CHECK(exchange.dispatcher != nullptr);
    std::vector<ExchangePhase> phases = dispatch_phases(exchange);
    if (exchange.combine) {
        std::ranges::reverse(phases);
        for (ExchangePhase& phase : phases) {
            for (ExchangeMessage& message : phase.messages) {
                std::swap(message.from, message.to);
            }
        }
    }
    return phases;
}

}  // namespace orrery
